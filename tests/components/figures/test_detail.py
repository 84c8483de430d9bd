"""One head, large."""

import numpy as np
import plotly.graph_objects as go
import pytest

from components.figures.detail import MOST_LABELS, Detail, detail_figure
from components.looks import LOG_FLOOR, Look, only_seen, without_first
from components.theme import LIGHT, SCALES


def uniform(seq_len):
    pattern = np.tril(np.ones((seq_len, seq_len), dtype=np.float32))
    return pattern / pattern.sum(axis=1, keepdims=True)


def drawn(labels, weights=None, *, look=None, top=1.0, window=None):
    look = look or Look()
    weights = only_seen(uniform(len(labels)), window) if weights is None else weights
    figure = go.Figure(detail_figure(Detail(weights, labels, look, top, window), LIGHT))
    heatmap = next(trace for trace in figure.data if trace.type == "heatmap")
    return figure, heatmap


def test_repeated_words_keep_rows_and_columns_of_their_own():
    # On a category axis equal labels merged and rows vanished.
    figure, heatmap = drawn(["the", "cat", "the", "cat"])
    assert np.shape(heatmap.z) == (4, 4)
    for axis in (figure.layout.xaxis, figure.layout.yaxis):
        assert axis.type in (None, "linear")
        assert list(axis.tickvals) == [0, 1, 2, 3]
        assert list(axis.ticktext) == ["the", "cat", "the", "cat"]


def test_labels_keep_the_order_of_the_text_beyond_a_hundred_tokens():
    labels = [str(place) for place in range(120)]
    figure, heatmap = drawn(labels)
    axis = figure.layout.xaxis
    assert np.shape(heatmap.z) == (120, 120)
    assert [str(place) for place in axis.tickvals] == list(axis.ticktext)
    assert list(axis.tickvals) == sorted(axis.tickvals)
    assert len(axis.tickvals) <= MOST_LABELS


@pytest.mark.parametrize("count", [1, 2, 48])
def test_all_labels_are_shown_where_there_is_room(count):
    figure, _ = drawn(["x"] * count)
    assert list(figure.layout.yaxis.tickvals) == list(range(count))


def test_queries_run_downward_in_square_cells():
    figure, _ = drawn(["a", "b", "c"])
    assert tuple(figure.layout.yaxis.range) == (2.5, -0.5)
    assert figure.layout.yaxis.scaleanchor == "x"


def test_masked_cells_are_gaps_with_a_hatch_and_zeros_are_cells():
    weights = only_seen(np.array([[1, 0], [1, 0]], dtype=np.float32))
    figure, heatmap = drawn(["a", "b"], weights)
    assert np.isnan(heatmap.z[0][1])
    assert heatmap.z[1][1] == 0
    hatched = [trace for trace in figure.data if trace.type == "scatter"]
    assert [trace.fillpattern.shape for trace in hatched] == ["/"]


def test_range_is_zero_to_one_and_its_end_is_written():
    _, heatmap = drawn(["a", "b"])
    assert (heatmap.zmin, heatmap.zmax) == (0, 1)
    assert "0 to 1" in heatmap.colorbar.title.text
    assert heatmap.colorscale[-1] == (1.0, SCALES["cividis"][-1])


def test_range_up_to_the_largest_is_said():
    _, heatmap = drawn(["a", "b"], look=Look(to_maximum=True), top=0.5)
    assert heatmap.zmax == 0.5
    assert "0.5, the largest" in heatmap.colorbar.title.text


def test_log_scale_is_said_and_keeps_the_weights_for_the_hover():
    weights = only_seen(np.array([[1, 0], [0, 1]], dtype=np.float32))
    _, heatmap = drawn(["a", "b"], weights, look=Look(log=True))
    assert heatmap.z[1][0] == 0  # a true zero lies at the floor
    assert heatmap.customdata[1][0] == 0
    assert "log scale" in heatmap.colorbar.title.text
    assert f"≤ {LOG_FLOOR:g}" in heatmap.colorbar.ticktext


def test_hidden_first_token_is_said_and_hatched():
    weights = only_seen(without_first(uniform(3)))
    figure, heatmap = drawn(["a", "b", "c"], weights, look=Look(hide_first=True))
    assert "rest renormalised" in heatmap.colorbar.title.text
    assert {trace.name for trace in figure.data if trace.type == "scatter"} == {
        "later token",
        "first token, hidden",
    }


def test_one_token_is_one_cell_of_weight_one():
    figure, heatmap = drawn(["a"])
    np.testing.assert_array_equal(heatmap.z, [[1.0]])
    assert len(figure.data) == 1


def test_labels_that_look_like_html_are_shown_as_text():
    figure, _ = drawn(["<b>x</b>", "a&b"])
    assert list(figure.layout.xaxis.ticktext) == ["&lt;b&gt;x&lt;/b&gt;", "a&amp;b"]


def test_long_text_is_pooled_and_the_colour_bar_says_so():
    labels = [str(place) for place in range(1030)]
    figure, heatmap = drawn(labels)
    assert np.shape(heatmap.z) == (344, 344)  # three tokens a cell
    assert "largest of 3 × 3" in heatmap.colorbar.title.text
    axis = figure.layout.xaxis
    assert [int(text) for text in axis.ticktext] == [3 * place for place in axis.tickvals]


@pytest.mark.parametrize("count", [1, 2, 512])
def test_every_pair_of_tokens_has_a_cell_up_to_the_limit(count):
    _, heatmap = drawn(["x"] * count)
    assert np.shape(heatmap.z) == (count, count)
    assert "largest of" not in heatmap.colorbar.title.text


def inside(trace, x, y):
    """Whether a point is in a polygon: a ray from it crosses the outline an odd number of times."""
    corners = list(zip(trace.x, trace.y, strict=True))
    crossed = 0
    for (x0, y0), (x1, y1) in zip(corners, [*corners[1:], corners[0]], strict=True):
        if (y0 > y) != (y1 > y):
            crossed += x < x0 + (y - y0) / (y1 - y0) * (x1 - x0)
    return crossed % 2 == 1


@pytest.mark.parametrize(("count", "window"), [(7, 1), (7, 3), (7, 6), (1030, 50), (1030, 1020)])
def test_tokens_before_the_window_are_hatched_cell_for_cell(count, window):
    figure, heatmap = drawn(["x"] * count, window=window)
    hatched = [trace for trace in figure.data if trace.type == "scatter"]
    assert [trace.name for trace in hatched] == ["later token", "before the window"]
    side = len(heatmap.z)
    places = range(side) if side < 9 else [0, 1, 17, 18, 19, side // 2, side - 2, side - 1]
    for y in places:
        for x in places:
            gap = bool(np.isnan(heatmap.z[y][x]))
            assert gap == any(inside(trace, x, y) for trace in hatched), (y, x)


@pytest.mark.parametrize("window", [7, 8, None])
def test_window_that_leaves_nothing_out_is_not_hatched(window):
    figure, _ = drawn(["x"] * 7, window=window)
    assert [trace.name for trace in figure.data if trace.type == "scatter"] == ["later token"]
