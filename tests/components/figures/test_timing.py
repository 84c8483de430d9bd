import pytest

from attention.benchmark.summary import lines, rows
from components.figures.timing import Timing, hover, timing_figure
from components.theme import DARK, LIGHT, MARKS
from tests.components.bench_builders import NAMES, point, settings


def timing(*heads, changes=None, most=8, crossover=None, **other):
    asked = settings(**other)
    found = rows(
        point(asked, name, n, **(changes or {}).get((name, n), {})) for n in heads for name in NAMES
    )
    return Timing(asked, found, lines(asked, found), crossover, most)


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
    assert "1.3 of 2 cores" in points.hovertext[1]


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
    shown = timing(1, changes={(name, 1): {"samples": (ms,)} for name in NAMES})
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


def test_hover_tells_time_ratio_and_equality():
    asked = settings()
    said = hover(timing(2), point(asked, "looped", 2), 1.5)
    for part in (
        "Loop, 2 heads",
        "of head_dim 24, d_out 48",
        "1.50 ms",
        "3 samples",
        "1.50× the batch",
        "equal to float64",
        "2.0e-07",
    ):
        assert part in said


def test_hover_shows_text_as_it_stands():
    said = hover(timing(2), point(settings(), "looped", 2, disturbed="<b>busy</b>"), None)
    assert "&lt;b&gt;busy&lt;/b&gt;" in said
