"""The strip that tells what the loop costs."""

import pytest

from attention.difference import Difference
from attention.tokens import Tokens
from components.measuring import Asked, Found
from components.opening import Asked as AskedModel
from components.parts.timing import bar_rows, equality, milliseconds, recomputed, verdict

SMALL = Difference(2e-7, 1e-7)


def timing(looped=2.0, batched=1.0, chosen="batched", difference=SMALL, refused=None):
    samples = {"looped": [looped] * 3, "batched": [batched] * 3, "sdpa": [0.5] * 3}
    other = "batched" if chosen == "looped" else "looped"
    text = Tokens.from_ids((1, 2, 3))
    asked = Asked(AskedModel("embedded"), text, 8, 1, tuple(samples), chosen, other)
    return Found(asked, samples, difference, refused)


def test_loop_that_takes_longer_is_said_with_the_ratio():
    assert verdict(timing(2.31, 0.98)) == (
        "With 8 heads a layer the loop takes 2.4× as long as the batch on this text."
    )


def test_loop_that_wins_is_said_too():
    assert "the loop wins here: the batch takes 1.5× as long" in verdict(timing(2.0, 3.0))


def test_times_within_five_percent_are_the_same():
    assert "same time" in verdict(timing(1.0, 1.04))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.02134, "0.0213 ms"),
        (2.306, "2.31 ms"),
        (8.704, "8.70 ms"),
        (1234.5, "1,230 ms"),
        (0, "0 ms"),
    ],
)
def test_times_have_three_significant_figures(value, said):
    assert milliseconds(value) == said


def test_bars_have_an_implementation_s_own_colour_and_mark_the_chosen_one():
    rows = bar_rows(timing(chosen="looped"))
    assert [row["title"] for row in rows] == ["Loop", "Batch", "SDPA"]
    assert [row["colour"] for row in rows] == ["#D55E00", "#0072B2", "#009E73"]
    assert [row["chosen"] for row in rows] == [True, False, False]


def test_equality_names_both_and_what_was_recomputed():
    found = timing(chosen="sdpa", difference=Difference(2e-7, 1e-7, ("sdpa",)))
    said = equality(found)
    assert said == "SDPA vs Loop, max |Δ|: outputs 2.0e-7, patterns 1.0e-7."
    assert "SDPA keeps no pattern" in recomputed(found)
    assert recomputed(timing()) == ""


def test_no_difference_at_all_is_said_in_words():
    assert "outputs 0, patterns 0" in equality(timing(difference=Difference(0.0, 0.0)))


def test_comparison_that_is_not_there_yet_or_was_refused_is_said():
    assert equality(timing(difference=None)) == "Batch vs Loop: comparing …"
    refused = timing(difference=None, refused="There is too little memory.")
    assert equality(refused) == "There is too little memory."
    assert recomputed(refused) == ""
