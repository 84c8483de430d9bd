import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from attention.config import AttentionConfig
from attention.model import LanguageModel
from attention.model_config import ModelConfig
from attention.scores import HEAD_METRICS
from attention.training.evaluate import (
    Evaluation,
    evaluate,
    held_out_loss,
    repeat_scores,
    text_scores,
)
from attention.training.initialise import initialise

VOCAB_SIZE = 31


@pytest.fixture
def model(generator):
    config = ModelConfig(
        vocab_size=VOCAB_SIZE,
        num_layers=2,
        d_mlp=13,
        attention=AttentionConfig.total(12, 12, 3, 17, qkv_bias=True),
        bos_token_id=0,
    )
    model = LanguageModel(config)
    initialise(model, generator)
    return model


def test_every_metric_is_scored_for_every_head(model):
    scores, accuracy = repeat_scores(model, probes=2)
    assert set(scores) == set(HEAD_METRICS)
    assert {table.shape for table in scores.values()} == {(2, 3)}
    assert 0 <= accuracy <= 1


def test_copies_are_counted_where_they_can_be_known(model, monkeypatch):
    """A model that always names the token 8 places back copies R = 8 tokens without fault."""
    run = model.run

    def copying(ids):
        record = run(ids)
        logits = torch.zeros_like(record.logits)
        for position in range(8, len(ids)):
            logits[position, ids[position - 7]] = 1.0
        return dataclasses.replace(record, read_out=logits)

    monkeypatch.setattr(model, "run", copying)
    assert repeat_scores(model, probes=2)[1] == 1.0


def test_a_model_that_knows_nothing_loses_the_log_of_the_vocabulary(model):
    with torch.no_grad():
        model.embed.weight.zero_()
    windows = torch.randint(1, VOCAB_SIZE, (11, 7))  # more rows than are run at once
    assert held_out_loss(model, windows) == pytest.approx(math.log(VOCAB_SIZE))


def test_a_look_leaves_the_mode_as_it_was(model):
    windows = torch.ones(2, 7, dtype=torch.int64)
    evaluate(model.train(), windows)
    assert model.training
    evaluate(model.eval(), windows)
    assert not model.training


def test_the_best_head_is_named_by_layer_and_head():
    table = np.zeros((2, 3))
    table[1, 2] = 0.9
    seen = Evaluation(loss=1.0, copy_accuracy=0.0, scores={"induction": table})
    assert seen.best("induction") == (0.9, 1, 2)


class Words:
    """A tokenizer whose texts are ids already."""

    def encode(self, text):
        return SimpleNamespace(ids=[0, *map(int, text.split())])

    def label(self, token):
        return str(token)


def test_text_that_says_nothing_of_a_score_is_left_out_of_its_mean(model):
    model.tokenizer = Words()
    repeats, plain = "5 6 7 5 6 7", "8 9 10"  # nothing comes again in the second
    both, one = text_scores(model, [repeats, plain]), text_scores(model, [repeats])
    np.testing.assert_allclose(both["induction"], one["induction"])
    assert not np.allclose(both["previous_token"], one["previous_token"])
    assert not text_scores(model, [plain])["induction"].any()


def test_text_is_cut_where_the_context_ends(model):
    model.tokenizer = Words()
    long = " ".join(str(i % 30 + 1) for i in range(50))
    cut = " ".join(long.split()[:16])  # and <bos>
    np.testing.assert_allclose(
        text_scores(model, [long])["previous_token"], text_scores(model, [cut])["previous_token"]
    )
