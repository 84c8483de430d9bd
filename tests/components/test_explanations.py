"""Each kind of head is explained."""

from pathlib import Path

import pytest

from attention.scores import HEAD_METRICS
from components import sentences
from components.explanations import EXPLANATIONS, HOW_TO_READ, NO_HABIT
from components.first_map import StoredHabit

GLOSSARY = Path(__file__).parents[2] / "docs" / "glossary.md"


def test_every_head_metric_has_its_line_and_no_line_is_left_over():
    assert list(EXPLANATIONS) == list(HEAD_METRICS)


@pytest.mark.parametrize("metric", EXPLANATIONS)
def test_term_is_one_of_the_glossary(metric):
    rows = GLOSSARY.read_text(encoding="utf-8").splitlines()
    terms = {row.split("|")[1].strip() for row in rows if row.startswith("|")}
    assert EXPLANATIONS[metric].term in terms


@pytest.mark.parametrize("metric", EXPLANATIONS)
def test_explanation_is_in_whole_sentences(metric):
    line = EXPLANATIONS[metric]
    for part in (line.does, line.see, line.use, HOW_TO_READ, NO_HABIT):
        assert part[0].isupper()
        assert part.endswith(".")


def test_no_two_kinds_are_explained_alike():
    for part in ("term", "habit", "does", "see", "use"):
        words = [getattr(line, part) for line in EXPLANATIONS.values()]
        assert len(set(words)) == len(words)


@pytest.mark.parametrize("metric", EXPLANATIONS)
def test_sentence_under_the_picture_has_the_score_and_fits_in_two_lines(metric):
    said = sentences.of_head(1, 3, StoredHabit(metric, "any", 0.914), None)
    assert "91%" in said
    assert len(said) <= 124  # of 62 characters, which is what the column holds at 1280 px
