"""What am I looking at? The words for each kind of head."""

import pytest

from components.explanations import EXPLANATIONS, NO_HABIT
from components.first_map import StoredHabit
from components.parts.explain import paragraphs


@pytest.mark.parametrize("metric", EXPLANATIONS)
def test_head_that_scores_high_is_explained(metric):
    line = EXPLANATIONS[metric]
    name, see, use = paragraphs(StoredHabit(metric, "any", 0.914))
    assert name == f"**{line.term.capitalize()}**, 91% here. {line.does}"
    assert see.endswith(line.see)
    assert use.endswith(line.use)


def test_head_without_a_habit_says_what_to_try():
    assert paragraphs(None) == [NO_HABIT]


def test_kind_that_has_no_words_yet_is_named_as_text():
    said = paragraphs(StoredHabit("new", "<b>new*", 0.5))
    assert said == [r"**\<b\>new\***, 50% here."]
