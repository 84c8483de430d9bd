"""The sentences are worked out from what the pictures show."""

import numpy as np
import pytest

from components import sentences
from components.first_map import StoredHabit

PREVIOUS = StoredHabit("previous_token", "previous token", 0.912)


def test_tag_has_two_digits_and_no_leading_zero():
    assert sentences.tag(PREVIOUS) == "previous token .91"
    assert sentences.tag(None) == ""


@pytest.mark.parametrize(("value", "said"), [(1.0, "1.0"), (0.999, "1.0"), (0.05, ".05")])
def test_score_near_one_is_not_point_one_hundred(value, said):
    assert sentences.short(value) == said


def test_head_with_a_habit_says_it_with_its_share():
    said = sentences.of_head(1, 3, PREVIOUS, np.eye(3, dtype=np.float32))
    assert said.startswith("Head 1.3 looks one token back, ")
    assert said.endswith(": 91% of its weight on average.")


def test_head_without_a_habit_says_how_strong_its_strongest_key_is():
    pattern = np.array([[1, np.nan], [0.5, 0.5]], dtype=np.float32)
    assert "75% of a row" in sentences.of_head(2, 0, None, pattern)


def test_head_that_only_looks_at_the_hidden_token_says_so():
    pattern = np.full((2, 2), np.nan, dtype=np.float32)
    assert "no weight besides the first" in sentences.of_head(0, 0, None, pattern)


def test_metric_that_has_no_words_yet_is_named():
    said = sentences.of_head(0, 0, StoredHabit("new", "a new thing", 0.5), np.eye(2))
    assert said == "Head 0.0 scores 50% as a new thing."


def test_query_names_its_strongest_keys_in_order():
    row = np.array([0.25, 0, 0.75, np.nan], dtype=np.float32)
    said = sentences.of_query(row, ["a", "b", "a", "c"], 2)
    assert said == "“a” (token 2) looks most at “a” (2) 75%, “a” (0) 25%."


def test_query_with_nothing_to_look_at_says_so():
    row = np.full(2, np.nan, dtype=np.float32)
    assert "nothing to look at" in sentences.of_query(row, ["<bos>", "a"], 0)


def test_layer_names_the_clearest_head():
    said = sentences.of_layer(1, [None, PREVIOUS, StoredHabit("induction", "induction", 0.5)])
    assert "2 of 3 heads" in said
    assert "head 1.1" in said


@pytest.mark.parametrize(("share", "said"), [(0.0, "0%"), (0.004, "0.4%"), (0.914, "91%")])
def test_shares_are_percent_with_two_figures(share, said):
    assert sentences.percent(share) == said
