from dataclasses import replace
from itertools import pairwise

import pytest

from attention.benchmark.trace import DISPATCH, KINDS, WAITING, Operator, Trace
from components.figures.trace import (
    ALL_LANES_PX,
    COLOURS,
    NAME_PX,
    hover,
    lane_px,
    lanes_of,
    named,
    trace_figure,
)
from components.theme import LIGHT

SPENT = dict.fromkeys((*KINDS, DISPATCH, WAITING), 1.0)
LOOP = Trace(
    operators=(
        Operator("aten::mm", "GEMM", 0, 1, 10.0, 30.0),
        Operator("aten::mm", "GEMM", 1, 2, 40.0, 70.0),
        Operator("aten::cat", "copies", None, 1, 80.0, 90.0),
    ),
    heads={0: (5.0, 35.0), 1: (38.0, 75.0)},
    span=100.0,
    spent=SPENT,
    calls=9,
    calls_in_heads=6,
)


def bars(figure, kind):
    [trace] = [trace for trace in figure.data if trace.name == kind]
    return trace


def test_every_operator_is_a_bar_in_its_heads_lane():
    figure = trace_figure(LOOP, LIGHT)
    gemm = bars(figure, "GEMM")
    assert list(gemm.y) == ["head 0", "head 1"]
    assert list(gemm.base) == [10.0, 40.0]
    assert list(gemm.x) == [20.0, 30.0]  # how long it takes, not when it ends
    assert list(bars(figure, "copies").y) == ["layer"]
    assert {trace.name for trace in figure.data} == {"GEMM", "copies"}


def test_first_head_is_on_top_and_the_layer_below():
    assert list(lanes_of(LOOP).values()) == ["head 0", "head 1", "layer"]
    assert trace_figure(LOOP, LIGHT).layout.yaxis.categoryarray == ("layer", "head 1", "head 0")


def test_pass_without_single_heads_has_one_lane():
    assert list(lanes_of(replace(LOOP, heads={})).values()) == ["all heads"]


def test_every_head_of_many_has_a_lane_on_one_screen():
    many = replace(LOOP, heads=dict.fromkeys(range(64), (0.0, 1.0)))
    assert len(lanes_of(many)) == 65
    drawn = trace_figure(many, LIGHT).layout
    assert tuple(drawn.yaxis.range) == (-0.5, 64.5)
    assert drawn.height <= ALL_LANES_PX + 200


@pytest.mark.parametrize("heads", [1, 8, 24, 25, 64, 256])
def test_names_beside_the_lanes_do_not_touch(heads):
    lanes = lanes_of(replace(LOOP, heads=dict.fromkeys(range(heads), (0.0, 1.0))))
    places = [list(lanes.values()).index(name) * lane_px(len(lanes)) for name in named(lanes)]
    assert min(b - a for a, b in pairwise(places)) >= NAME_PX
    assert named(lanes)[0] == "head 0"
    assert named(lanes)[-1] == "layer"


def test_hover_tells_when_how_long_and_on_which_thread():
    said = hover(LOOP.operators[1], "head 1")
    assert "aten::mm" in said
    assert "40 to 70 µs: 30.0 µs, thread 2" in said


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_colour_of_its_own(kind):
    assert list(COLOURS.values()).count(COLOURS[kind]) == 1
