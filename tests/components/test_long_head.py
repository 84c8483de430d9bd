"""A head read in blocks: the same numbers as the whole pattern, and never the whole at once."""

from dataclasses import replace

import numpy as np
import pytest

from attention.errors import ConfigError
from components import long_head, looks
from components.long_head import LongHead, Tile
from components.looks import Look, shown_pattern
from components.parts.detail import STRONGEST, as_lines, listing
from tests.builders import (
    assert_arrays_close,
    model_config,
    previous_token_pattern,
    record_of,
    small_model,
)

LENGTH = 127
WINDOWS = [None, 23]


def long_record(window=None):
    """Random weights; heads share k by threes."""
    config = model_config(num_heads=9, num_kv_heads=3, num_layers=1, context_length=LENGTH)
    config = replace(config, attention=replace(config.attention, window=window))
    return small_model(config).run([i * 37 % 101 for i in range(LENGTH)])


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Seven rows at a time: no tile ends where a block does."""
    monkeypatch.setattr(long_head, "BLOCK_CELLS", 7 * LENGTH)
    monkeypatch.setattr(long_head, "OVERVIEW", 31)


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize(
    "corner", [(0, 0, 127, 127), (0, 0, 1, 1), (126, 126, 127, 127), (11, 3, 58, 97),
               (5, 50, 13, 127), (113, 0, 127, 2)]
)  # fmt: skip
def test_tile_is_that_part_of_the_pattern(corner, window, hidden):
    record = long_record(window)
    whole = shown_pattern(record, 0, 4, Look(hide_first=hidden))
    top, left, bottom, right = corner
    tile = LongHead(record, 0, 4, hidden).tile(Tile(*corner))
    assert_arrays_close(tile, whole[top:bottom, left:right])


@pytest.mark.parametrize("by", [2, 3, 5, 16, 200])
@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("corner", [(4, 1), (0, 0)])
def test_cell_of_a_coarser_tile_is_the_largest_of_its_weights(by, hidden, window, corner):
    record = long_record(window)
    whole = shown_pattern(record, 0, 4, Look(hide_first=hidden))
    tile = Tile(*corner, 127, 124, by)
    found = LongHead(record, 0, 4, hidden).tile(tile)
    assert found.shape == tile.shape
    part = whole[corner[0] : 127, corner[1] : 124]
    for row in range(found.shape[0]):
        for column in range(found.shape[1]):
            cells = part[row * by : (row + 1) * by, column * by : (column + 1) * by]
            largest = np.nan if np.isnan(cells).all() else np.nanmax(cells)
            assert_arrays_close(found[row, column], np.float32(largest))


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("window", WINDOWS)
def test_survey_finds_what_the_whole_pattern_has(window, hidden):
    record = long_record(window)
    whole = shown_pattern(record, 0, 2, Look(hide_first=hidden))
    survey = LongHead(record, 0, 2, hidden).survey()
    assert survey.by == 5  # 127 tokens in at most 31 cells
    assert_arrays_close(survey.overview, looks.pooled(whole, 31))
    rows = ~np.isnan(whole).all(axis=1)
    assert_arrays_close(survey.row_maxima[rows], np.nanmax(whole[rows], axis=1))
    assert np.isnan(survey.row_maxima[~rows]).all()
    labels = [str(i) for i in range(LENGTH)]
    assert as_lines(survey.strongest, labels) == listing(whole, labels)
    assert len(survey.strongest) == STRONGEST == long_head.STRONGEST


def test_equal_weights_are_listed_in_the_order_of_the_text():
    record = record_of(previous_token_pattern(LENGTH))
    strongest = LongHead(record, 0, 0).survey().strongest
    assert strongest == tuple((query, max(query - 1, 0), 1.0) for query in range(STRONGEST))


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("query", [0, 64, 126])
def test_row_is_that_of_the_whole_pattern(query, window):
    record = long_record(window)
    whole = shown_pattern(record, 0, 1, Look(hide_first=True))
    assert_arrays_close(LongHead(record, 0, 1, hide_first=True).row(query), whole[query])


def test_no_more_than_a_block_is_ever_held():
    record, asked = long_record(), []

    class Watched:
        seq_len = LENGTH

        def window(self, layer):
            return record.window(layer)

        def pattern(self, layer, head, rows):
            asked.append(rows.stop - rows.start)
            return record.pattern(layer, head, rows=rows)

    head = LongHead(Watched(), 0, 0)
    head.survey()
    head.tile(Tile(0, 0, LENGTH, LENGTH))
    assert max(asked) <= 7
    assert sum(asked) == 2 * LENGTH


@pytest.mark.parametrize("corners", [(3, 0, 3, 5), (0, 5, 3, 5), (-1, 0, 3, 5), (0, 0, 1, 1, 0)])
def test_what_is_no_rectangle_is_refused(corners):
    with pytest.raises(ConfigError, match="tile must be top < bottom"):
        Tile(*corners)
