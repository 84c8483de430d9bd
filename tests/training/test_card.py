from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from attention.training.card import CardFacts, thinned, write_card
from attention.training.checkpoint import LogEntry
from attention.training.corpus import CorpusFile
from attention.training.measure import Reading
from attention.training.sources import SOURCES, WRITTEN
from attention.training.stages import STAGES


def entry(step):
    return LogEntry("heads", step, step * 10, 61.0, 4.0, 5.0, 0.5, 0.1, 0.2, 0.3, 0.4)


@pytest.fixture
def facts():
    induction = np.zeros((2, 3), dtype=np.float64)
    induction[1, 2] = 0.91
    return CardFacts(
        files=[CorpusFile(source, Path(), "a" * 64, "b" * 64) for source in SOURCES],
        stages=STAGES,
        seed=5,
        tokens_per_step=4_096,
        parameters=4_270_000,
        log=[entry(step) for step in range(1, 101)],
        scores={"induction": induction},
        on_text={"induction": induction},
        copy_accuracy=0.93,
        held_out={"austen": Reading(350.0, 100, 400), "wordnet": Reading(45.0, 10, 30)},
        compared=None,
        samples=[("Once", " upon\na time")],
        finished=True,
        environment="torch 1.2.3",
    )


def test_the_card_names_every_text_with_version_licence_and_hashes(facts):
    card = write_card(facts)
    for source in SOURCES:
        for part in (source.title, source.package.name, source.package.version, source.licence):
            assert part in card
    assert "a" * 64 in card
    assert "b" * 64 in card


def test_the_card_gives_losses_heads_samples_and_recipe(facts):
    card = write_card(facts)
    for part in (
        "| austen | 3.500 | 4.00 | 1.262 |",
        "| wordnet | 4.500 | 3.00 | 2.164 |",
        "best head, induction | 0.910 (layer 1, head 2)",
        "| L1H2 | **0.91** |",
        "**Once** upon a time",
        "Seed 5",
        "torch 1.2.3",
    ):
        assert part in card


def test_the_card_sets_an_earlier_models_loss_beside_its_own(facts):
    earlier = {
        name: Reading(2 * read.nats, 7, read.characters) for name, read in facts.held_out.items()
    }
    card = write_card(replace(facts, compared=earlier))
    assert "model compared with, bits a character" in card
    assert "| austen | 3.500 | 4.00 | 1.262 | 2.525 |" in card


def test_the_limits_are_those_of_the_texts_it_had(facts):
    # The card of a model without the stories said that another model had written part of it.
    assert "written by another small model" in write_card(facts)
    without = replace(facts, files=[f for f in facts.files if f.source not in WRITTEN])
    assert "written by another small model" not in write_card(without)
    assert "The texts are mostly old" in write_card(without)


def test_best_heads_on_text_stand_beside_those_on_random_tokens(facts):
    on_text = {"previous_token": np.array([[0.1, 0.2, 0.3], [0.4, 0.96, 0.5]])}
    card = write_card(replace(facts, on_text=on_text))
    row = "| best head on today's sentences, previous token | 0.960 (layer 1, head 1) |"
    assert row in card


def test_the_card_says_which_kinds_of_head_are_missing(facts):
    assert "no head is a" not in write_card(facts)
    none = {"duplicate_token": np.full((2, 3), 0.03)}
    card = write_card(replace(facts, scores=facts.scores | none))
    assert "no head is a duplicate token head: the best score is 0.03, under" in card


def test_an_unfinished_model_says_so(facts):
    assert "Not finished" not in write_card(facts)
    assert "Not finished" in write_card(replace(facts, finished=False))


def test_a_long_log_is_thinned_and_keeps_its_last_line(facts):
    kept = thinned(facts.log, 10)
    assert len(kept) == 10
    assert kept[-1].step == 100
    assert thinned(facts.log[:7], 10) == facts.log[:7]
