"""All heads of a layer in one figure."""

import json

import numpy as np
import plotly.graph_objects as go
import pytest

from components.figures.grid import Tiling, grid_figure, tiled
from components.looks import GAP, HIGHEST, LOWEST, MASKED, Look
from components.theme import DARK, LIGHT, SCALES

NAN = np.nan


def thumbnails(heads, side, seed=1):
    weights = np.random.default_rng(seed).random((heads, side, side), dtype=np.float32)
    return np.where(np.tri(side, dtype=bool), weights, np.float32(NAN))


def figure(weights, tags=None, **settings):
    tags = [""] * len(weights) if tags is None else tags
    known = {"look": Look(), "top": 1.0, "ink": LIGHT}
    return go.Figure(grid_figure(weights, tags, **{**known, **settings}))


def test_one_figure_has_one_trace_of_bytes_for_all_heads():
    drawn = figure(thumbnails(7, 5))
    assert len(drawn.data) == 1
    assert drawn.data[0].type == "heatmap"
    z = np.asarray(drawn.data[0].z)
    assert z.dtype == np.uint8
    assert z.max() <= 254


def test_bytes_travel_as_a_typed_array_without_the_costly_255():
    drawn = figure(np.ones((3, 5, 5), dtype=np.float32))
    z = json.loads(drawn.to_json())["data"][0]["z"]
    assert z["dtype"] == "u1"
    assert "/////" not in z["bdata"]


@pytest.mark.parametrize("heads", [1, 3, 7, 11, 13, 37])
def test_every_head_has_its_own_tile(heads):
    weights = thumbnails(heads, 5)
    cells = tiled(weights, Look(), 1.0)
    tiling = Tiling(heads, 5)
    corners = [tiling.corner(head) for head in range(heads)]
    assert len(set(corners)) == heads
    assert (cells != GAP).sum() == heads * 25
    for head, (row, column) in enumerate(corners):
        tile = cells[row : row + 5, column : column + 5]
        np.testing.assert_array_equal(tile == MASKED, np.isnan(weights[head]))


def test_heads_share_one_range():
    # Two heads, one with a maximum of 0.05 and one of 1.0, looked alike when each had its own.
    weights = np.full((2, 3, 3), 0.05, dtype=np.float32)
    weights[1] = 1.0
    cells = tiled(weights, Look(), 1.0)
    assert set(cells[:3, :3].flat) == {LOWEST + round(0.05 * (HIGHEST - LOWEST))}
    assert HIGHEST in cells
    drawn = figure(weights).data[0]
    assert (drawn.zmin, drawn.zmax) == (GAP, HIGHEST)


@pytest.mark.parametrize("ink", [LIGHT, DARK])
@pytest.mark.parametrize("scale", list(SCALES))
def test_masked_cells_are_drawn_unlike_zero(scale, ink):
    colours = figure(thumbnails(3, 5), look=Look(scale=scale), ink=ink).data[0].colorscale
    at = dict(colours)
    assert at[LOWEST / HIGHEST] == SCALES[scale][0]
    assert ink.masked in at.values()
    assert ink.masked not in SCALES[scale]
    assert at[1.0] == SCALES[scale][-1]


def test_tags_are_written_as_text():
    drawn = figure(thumbnails(3, 5), ["previous token .91", "", "<b>x</b>"])
    texts = [note.text for note in drawn.layout.annotations]
    assert "previous token .91" in texts
    assert "&lt;b&gt;x&lt;/b&gt;" in texts


@pytest.mark.parametrize(
    ("heads", "shown"), [(9, "previous token .91"), (16, "previous .91"), (64, "")]
)
def test_tags_of_many_heads_do_not_run_into_each_other(heads, shown):
    drawn = figure(thumbnails(heads, 5), ["previous token .91"] * heads)
    assert [note.text for note in drawn.layout.annotations][heads:] == [shown] * heads


@pytest.mark.parametrize(
    ("heads", "columns"), [(1, 1), (4, 4), (8, 4), (9, 5), (12, 6), (16, 6), (32, 8)]
)
def test_as_many_heads_beside_each_other_as_makes_them_largest(heads, columns):
    # Four beside each other, whatever their number, left 16 heads tiny and half the place empty.
    assert Tiling(heads, 26).columns == columns


def test_heads_of_several_layers_carry_their_names():
    drawn = figure(thumbnails(3, 5), names=["0.0", "0.1", "1.0"])
    words = [note.text for note in drawn.layout.annotations]
    assert words[:3] == ["<b>0.0</b>", "<b>0.1</b>", "<b>1.0</b>"]
    numbered = [note.text for note in figure(thumbnails(3, 5)).layout.annotations]
    assert numbered[:3] == ["<b>0</b>", "<b>1</b>", "<b>2</b>"]
