"""Losses and head scores over a training."""

import json

import numpy as np
import pytest

from attention.formation import load_formation
from components.figures.forming import (
    COLOURS,
    apart,
    forming_figure,
    head_curves,
    loss_curves,
    score_curves,
    stage_starts,
)
from components.theme import DARK, LIGHT, MARKS


@pytest.fixture(scope="module")
def history():
    return load_formation().history


@pytest.fixture(scope="module")
def figure(history):
    return forming_figure(history, 1_617_920, (1, 3), LIGHT)


def test_losses_above_and_scores_below_share_the_tokens(figure, history):
    axes = [trace.yaxis for trace in figure.data]
    assert axes.count("y") == 4
    assert axes.count("y2") == 2 * len(score_curves(history))
    assert all(len(trace.x) == len(history.looks) for trace in figure.data)
    assert figure.data[0].x[-1] == pytest.approx(history.tokens[-1] / 1e6)


def test_heads_that_formed_are_drawn_and_named(history):
    found = {curve.name: curve.values for curve in score_curves(history)}
    assert set(found) == {"previous token 0.2", "induction 1.3"}
    assert found["induction 1.3"][-1] > 0.8 > 0.1 > found["induction 1.3"][0]


def test_chosen_heads_own_scores_are_dotted_in_the_same_colours(history):
    own = head_curves(history, 1, 2)
    assert [curve.colour for curve in own] == [c.colour for c in score_curves(history)]
    assert {curve.dash for curve in own} == {"dot"}
    expected = history.scores("induction")[:, 1, 2]
    np.testing.assert_array_equal(own[1].values, expected)


def test_bump_is_a_band_with_a_name_and_the_checkpoint_a_line(figure, history):
    band, *_, line = figure.layout.shapes
    assert (band.type, band.x0, band.x1) == (
        "rect",
        history.bump.start / 1e6,
        history.bump.end / 1e6,
    )
    assert (line.name, line.x0, line.x1) == ("checkpoint", 1.61792, 1.61792)
    words = [note.text for note in figure.layout.annotations]
    assert "the bump: induction forms" in words
    assert "long rows from here" in words


def test_stage_begins_where_the_recipe_changed(history):
    [(tokens, stage)] = stage_starts(history)
    assert stage == "long rows"
    assert history.bump.start < tokens < history.bump.end


def test_what_is_not_there_is_a_gap_that_json_can_hold(figure):
    drawn = json.loads(figure.to_json())
    training = drawn["data"][2]
    assert training["y"][0] is None
    assert training["y"][1] > 5


def test_every_loss_is_inside_its_panel(figure, history):
    top = figure.layout.yaxis.range[1]
    assert all(np.nanmax(curve.values) <= top for curve in loss_curves(history, DARK))


def test_colours_are_no_implementations():
    assert not set(COLOURS.values()) & {mark.colour for mark in MARKS.values()}
    assert len(set(COLOURS.values())) == len(COLOURS)


@pytest.mark.parametrize(
    ("heights", "expected"),
    [
        ([0.5, 0.5], [0.5, 0.6]),
        ([0.9, 0.1], [0.9, 0.1]),
        ([0.98, 1.0, 0.2], [0.9, 1.0, 0.2]),
        ([1.0, 1.0, 1.0], [0.8, 0.9, 1.0]),
        ([], []),
    ],
)
def test_names_are_moved_apart_and_stay_inside(heights, expected):
    assert apart(heights, 0.1) == pytest.approx(expected)
