from dataclasses import replace

import pytest

from attention.benchmark import environment
from attention.benchmark.imported import Run
from attention.benchmark.summary import lines, rows
from components.figures.quantities import QUANTITIES
from components.figures.timing import Timing, timing_figure
from components.figures.timing_hover import cut
from components.theme import DARK, LIGHT, MARKS
from tests.components.bench_builders import NAMES, point, settings


def timing(*heads, changes=None, most=8, crossover=None, figure="time", run=None, **other):
    asked = settings(**other)
    found = rows(
        point(asked, name, n, **(changes or {}).get((name, n), {})) for n in heads for name in NAMES
    )
    quantity = QUANTITIES[figure]
    return Timing(asked, found, lines(asked, found), crossover, most, quantity, run)


def lab(*heads):
    """A run of another machine, with other times."""
    asked = settings()
    under = replace(environment(asked), device="cuda:0", device_title="NVIDIA <H200>")
    found = [point(asked, name, n, samples=(0.125 * n,)) for n in heads for name in NAMES]
    return Run(asked, under, tuple(found))


def traces(figure, name):
    """Band, straight line, points, and what stands for them in the legend."""
    return [trace for trace in figure.data if trace.legendgroup == name]


def test_points_are_medians_at_their_head_counts():
    _, _, points, _ = traces(timing_figure(timing(1, 2, 4), LIGHT), "looped")
    assert list(points.x) == [1, 2, 4]
    assert list(points.y) == pytest.approx([1.25, 1.5, 2.0])


def test_band_goes_along_p90_and_back_along_p10():
    shown = timing(1, 2)
    band, *_ = traces(timing_figure(shown, LIGHT), "looped")
    first, second = (row.by_name["looped"] for row in shown.rows)
    assert list(band.x) == [1, 2, 2, 1]
    assert list(band.y) == pytest.approx([first.p90, second.p90, second.p10, first.p10])


def test_no_band_lies_over_a_point():
    figure = timing_figure(timing(1, 2), LIGHT)
    bands = [i for i, trace in enumerate(figure.data) if trace.fill == "toself"]
    points = [i for i, trace in enumerate(figure.data) if trace.mode == "markers"]
    assert max(bands) < min(points)


def test_straight_line_is_dashed_and_its_slope_in_the_legend():
    _, fitted, _, key = traces(timing_figure(timing(1, 2, 4), LIGHT), "looped")
    assert fitted.line.dash == "dash"
    assert list(fitted.y) == pytest.approx([1.25, 2.0])
    assert key.name == "Loop: 0.250 ms a head, R² 1.000"


@pytest.mark.parametrize("name", NAMES)
def test_each_implementation_has_its_own_colour_and_marker(name):
    _, fitted, points, key = traces(timing_figure(timing(1, 2), LIGHT), name)
    assert fitted.line.color == MARKS[name].colour
    assert points.marker.symbol == key.marker.symbol == MARKS[name].symbol


def test_disturbed_point_is_hollow_with_the_reason_in_its_hover():
    changes = {("looped", 2): {"disturbed": "other programs kept 1.3 of 2 cores busy"}}
    _, _, points, _ = traces(timing_figure(timing(1, 2, changes=changes), LIGHT), "looped")
    colour = MARKS["looped"].colour
    assert list(points.marker.color) == [colour, LIGHT.page]
    assert points.marker.line.color == colour
    assert points.marker.line.width >= 3  # told from a full one at the back of a room
    assert "1.3 of 2 cores" in points.hovertext[1]


def test_what_is_counted_is_not_disturbed():
    """Memory and operators were hollow on a busy machine, which counts the same."""
    changes = {("looped", 2): {"disturbed": "busy"}}
    for figure, hollow in (("share", True), ("memory", False), ("operators", False)):
        drawn = timing_figure(timing(1, 2, changes=changes, figure=figure), LIGHT)
        assert (LIGHT.page in traces(drawn, "looped")[2].marker.color) is hollow
        key = next(trace for trace in drawn.data if trace.name == "Hollow: disturbed")
        assert key.showlegend is hollow


def test_legend_says_what_hollow_is_while_there_is_such_a_point():
    changes = {("sdpa", 2): {"disturbed": "busy"}}
    shown = [timing_figure(timing(1, 2, changes=c), LIGHT) for c in ({}, changes)]
    keys = [next(t for t in f.data if t.name == "Hollow: disturbed") for f in shown]
    assert [key.showlegend for key in keys] == [False, True]


def test_failed_equality_is_a_red_cross_and_no_time():
    wrong = {"samples": (), "equal": False, "error": "Loop computed something else."}
    figure = timing_figure(timing(1, 2, changes={("looped", 2): wrong}), LIGHT)
    assert list(traces(figure, "looped")[2].x) == [1]
    crosses = figure.data[-1]
    assert (list(crosses.x), list(crosses.y)) == ([2], [0])
    assert crosses.marker.symbol == "x"
    assert crosses.marker.color == LIGHT.wrong
    assert "NOT EQUAL" in crosses.hovertext[0]
    assert "Loop computed something else." in crosses.hovertext[0]
    assert crosses.text == ("Loop",)


def test_failures_at_one_head_count_share_a_cross_that_names_them():
    """One cross lay over the other, and nobody saw whose they were."""
    wrong = {"samples": (), "error": "out of memory"}
    found = timing(2, changes={("looped", 2): wrong, ("sdpa", 2): wrong})
    crosses = timing_figure(found, LIGHT).data[-1]
    assert list(crosses.x) == [2]
    assert crosses.text == ("Loop<br>SDPA",)
    assert crosses.hovertext[0].count("out of memory") == 2


def test_skeleton_has_the_same_traces_in_the_same_order():
    """Or the browser could not draw the growing figure over it."""
    empty, full = (timing_figure(timing(*heads), LIGHT) for heads in ((), (1, 2, 4)))
    kinds = [[(trace.type, trace.mode, trace.fill) for trace in f.data] for f in (empty, full)]
    assert kinds[0] == kinds[1]


def test_axis_of_heads_stays_while_points_are_added():
    ranges = {
        timing_figure(timing(*heads, most=16), LIGHT).layout.xaxis.range for heads in ((), (1, 2))
    }
    assert len(ranges) == 1


def test_axis_of_times_holds_every_median_and_starts_at_zero():
    shown = timing(1, 2, 4, changes={("sdpa", 4): {"samples": (7.0,)}})
    low, high = timing_figure(shown, LIGHT).layout.yaxis.range
    assert low == 0
    assert high >= 7.0


def test_wild_p90_does_not_flatten_the_rest():
    shown = timing(1, 2, changes={("looped", 2): {"samples": (1.0,) * 8 + (500.0,) * 2}})
    assert timing_figure(shown, LIGHT).layout.yaxis.range[1] < 10


@pytest.mark.parametrize("ms", [0.0004, 0.07, 1.0, 9.99, 1234.0])
def test_axis_of_times_fits_any_magnitude(ms):
    changes = {"samples": (ms,), "least_ms": ms / 4}
    shown = timing(1, changes={(name, 1): changes for name in NAMES})
    top = timing_figure(shown, LIGHT).layout.yaxis.range[1]
    assert ms < top <= 3 * ms


def test_crossover_is_marked():
    layout = timing_figure(timing(1, 2, crossover=5.25), LIGHT).layout
    assert layout.shapes[0].x0 == 5.25
    assert "about 5.2 heads" in layout.annotations[0].text


def test_axis_says_what_is_timed():
    assert timing_figure(timing(), LIGHT).layout.yaxis.title.text == "ms per forward pass"
    both = timing_figure(timing(passes="backward"), LIGHT)
    assert both.layout.yaxis.title.text == "ms per forward and backward pass"


@pytest.mark.parametrize("ink", [LIGHT, DARK])
def test_colours_are_those_of_the_page(ink):
    figure = timing_figure(timing(1, 2), ink)
    assert figure.layout.font.color == ink.text
    assert figure.layout.paper_bgcolor == "rgba(0,0,0,0)"


# ------------------------------------------------------------------ other figures than the time


@pytest.mark.parametrize(
    ("figure", "expected", "axis"),
    [
        ("share", [25.0, 25.0], "% of plain matrix products' FLOP/s"),
        ("memory", [3.0, 3.0], "MB held at once per forward pass"),
        ("operators", [10.0, 20.0], "operators per forward pass"),
    ],
)
def test_other_figures_are_drawn_without_band_and_straight_line(figure, expected, axis):
    drawn = timing_figure(timing(1, 2, figure=figure, crossover=1.5), LIGHT)
    band, joined, points, key = traces(drawn, "looped")
    assert list(band.x) == []
    assert list(points.y) == list(joined.y) == pytest.approx(expected)
    assert joined.line.dash == "solid"
    assert key.name == "Loop"
    assert drawn.layout.yaxis.title.text == axis
    assert not drawn.layout.shapes


@pytest.mark.parametrize(("figure", "limit"), [("time", 0.2), ("share", 100.0)])
def test_limit_is_a_line_of_long_dashes_within_the_axis(figure, limit):
    drawn = timing_figure(timing(1, 2, figure=figure), LIGHT)
    line = drawn.data[0]
    assert line.name == "Limit: plain matrix products"
    assert (list(line.x), list(line.y)) == ([1, 2], [limit, limit])
    assert line.line.dash == "longdash"
    assert drawn.layout.yaxis.range[1] > limit


def test_points_that_lack_a_figure_are_left_out():
    drawn = timing_figure(
        timing(1, 2, figure="memory", changes={("looped", 1): {"peak_bytes": None}}), LIGHT
    )
    assert list(traces(drawn, "looped")[2].x) == [2]


# ------------------------------------------------------------------ another run laid over it


def test_other_run_is_dotted_with_small_points_and_named_by_its_machine():
    drawn = timing_figure(timing(1, 2, run=lab(1, 2, 4)), LIGHT)
    laid = [trace for trace in drawn.data if trace.line.dash == "dot"]
    loop = laid[0]
    assert (list(loop.x), list(loop.y)) == ([1, 2, 4], [0.125, 0.25, 0.5])
    assert loop.line.color == MARKS["looped"].colour
    assert loop.marker.symbol == MARKS["looped"].symbol
    own = traces(drawn, "looped")[2]
    assert loop.marker.size < own.marker.size
    assert set(loop.marker.color) == {MARKS["looped"].colour}  # hollow ones are disturbed ones
    assert "NVIDIA &lt;H200&gt;, float32" in loop.hovertext[0]
    named = [trace.name for trace in laid if trace.showlegend is not False]
    assert named == ["Dotted: NVIDIA &lt;H200&gt;, float32"]


def test_long_name_of_another_machine_is_seen_to_be_cut():
    """It ended in the middle of a word: "1 thread, float"."""
    assert cut("AMD EPYC 7763, 1 thread, float32") == "AMD EPYC 7763, 1 thread, float32"
    long = cut("AMD EPYC 7763 64-Core Processor, 1 thread, float32")
    assert long == "AMD EPYC 7763 64-Core Processor, 1 thread …"


def test_other_run_ends_where_the_axis_ends_and_fits_it():
    slow = lab(1, 8, 16)
    drawn = timing_figure(timing(1, most=8, run=slow), LIGHT)
    loop = next(trace for trace in drawn.data if trace.line.dash == "dot")
    assert list(loop.x) == [1, 8]
    assert drawn.layout.yaxis.range[1] > 1.0


def test_skeleton_with_another_run_has_the_same_traces():
    empty, full = (timing_figure(timing(*heads, run=lab(1, 2)), LIGHT) for heads in ((), (1, 2, 4)))
    assert [trace.type for trace in empty.data] == [trace.type for trace in full.data]
    assert [trace.mode for trace in empty.data] == [trace.mode for trace in full.data]


def test_what_is_not_possible_has_a_sign_of_its_own_named_in_the_legend_and_no_failure():
    gone = {"samples": (), "equal": None, "error": "it has no KV cache", "impossible": True}
    found = timing(1, 2, changes={("sdpa", 1): gone, ("sdpa", 2): gone}, passes="decode")
    *_, signs, crosses = timing_figure(found, LIGHT).data
    assert (list(signs.x), list(signs.y)) == ([1, 2], [0, 0])
    assert signs.marker.symbol == "circle-x-open"
    assert signs.name == "Not possible: SDPA"
    assert signs.showlegend
    assert "it has no KV cache" in signs.hovertext[0]
    assert list(crosses.x) == []
    assert not crosses.showlegend
