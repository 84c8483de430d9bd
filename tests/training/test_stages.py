from dataclasses import replace

import pytest

from attention.errors import HeadscopeError
from attention.training.rows import RowMix
from attention.training.stages import STAGES, Gate, Stage, shortened

FALLING = Stage(
    name="s",
    length=16,
    mix=RowMix(0.0, 0.0),
    learning_rate=1.0,
    max_steps=100,
    hold=0.4,
    final=0.1,
    warmup_steps=10,
)


@pytest.mark.parametrize(
    ("step", "progress", "rate"),
    [
        (0, 0.0, 0.1),  # warm-up
        (9, 0.09, 1.0),
        (40, 0.4, 1.0),  # held
        (70, 0.7, 0.55),  # half-way down to 0.1
        (100, 1.0, 0.1),
    ],
)
def test_the_learning_rate_rises_holds_and_falls(step, progress, rate):
    assert FALLING.rate(step, progress) == pytest.approx(rate)


def test_a_constant_stage_stays_at_its_rate_to_the_end():
    assert replace(FALLING, hold=1.0).rate(99, 1.0) == 1.0


def test_only_the_last_stage_is_shortened():
    short = shortened(STAGES, 17)
    assert short[:-1] == STAGES[:-1]
    assert short[-1].max_steps == 17


@pytest.mark.parametrize("share", [-0.1, 1.0])
def test_a_share_of_heads_that_leaves_none_is_refused(share):
    with pytest.raises(HeadscopeError, match="drop_heads must be 0 to below 1"):
        replace(FALLING, drop_heads=share)


def test_a_gate_on_an_unknown_score_is_refused():
    with pytest.raises(HeadscopeError, match=r"metric must be one of .*; got 'beauty'"):
        Gate("beauty", 0.5)


def test_a_stage_without_steps_is_refused():
    with pytest.raises(HeadscopeError, match="max_steps must be at least 1; got 0"):
        replace(FALLING, max_steps=0)
