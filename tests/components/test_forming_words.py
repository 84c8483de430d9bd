"""The sentences on a moment of a training."""

import math

import numpy as np
import pytest

from attention.history import Bump, Look
from attention.scores import HEAD_METRICS
from components.forming_words import millions, of_moment, phase

BUMP = Bump(1_000_000, 2_000_000)


def look(tokens, *, previous=0.0, induction=0.0, again=6.9):
    scores = {name: np.zeros((2, 3)) for name in HEAD_METRICS}
    scores["previous_token"][0, 1] = previous
    scores["induction"][1, 2] = induction
    return Look(
        step=tokens // 10,
        tokens=tokens,
        stage="only",
        train_loss=5.0,
        held_out_loss=5.0,
        first_copy_loss=-math.log(0.001),
        second_copy_loss=again,
        scores=scores,
    )


@pytest.mark.parametrize(
    ("tokens", "said"), [(0, "0"), (20_480, "20k"), (999_400, "999k"), (1_740_800, "1.74M")]
)
def test_tokens_have_three_figures(tokens, said):
    assert millions(tokens) == said


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (0, "before the first step"),
        (999_999, "before the bump"),
        (1_000_000, "in the bump"),
        (2_000_000, "in the bump"),
        (2_000_001, "after the bump"),
    ],
)
def test_phase(tokens, said):
    assert phase(look(tokens), BUMP) == said


def test_formed_heads_are_named_with_their_share():
    found = look(1_620_000, previous=0.42, induction=0.36, again=-math.log(0.25))
    assert of_moment(found, BUMP) == (
        "1.62M tokens, in the bump: on random tokens that come twice, head 0.1 gives the token "
        "before 42% of its weight, head 1.2 gives the token after the earlier copy 36%; a token "
        "that comes again is given a chance of 25%, a new one 0.1%."
    )


def test_unformed_heads_are_said_to_be_so():
    words = of_moment(look(20_480, previous=0.05, induction=0.02), BUMP)
    assert "no head looks one token back yet, none finds repeats (at best 2% on" in words
