"""A head of a long text, read in blocks of rows: tiles, single rows, its strongest weights.

The whole seq_len × seq_len pattern is never in memory, and every weight is exact all the same.
"""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from attention.errors import ConfigError
from attention.progress import Progress
from components.looks import Weights, step, without_first

BLOCK_CELLS = 1 << 22  # weights held at a time: 16 MB
OVERVIEW = 1024  # cells a side, at most
STRONGEST = 20  # cells that are listed

Cell = tuple[int, int, float]  # query, key, weight


class Tiled(Protocol):
    """What is needed of a run: `attention.RunRecord` fits."""

    @property
    def seq_len(self) -> int:
        """Tokens."""

    def window(self, layer: int) -> int | None:
        """How many tokens a query of a layer may attend to, its own the last; None for all."""

    def pattern(self, layer: int, head: int, rows: slice) -> Weights:
        """Some rows of one head's pattern; the caller's own."""


@dataclass(frozen=True)
class Tile:
    """A rectangle of a pattern, and how finely it is shown.

    Attributes:
        top: the first query.
        left: the first key.
        bottom: the query after the last.
        right: the key after the last.
        by: tokens a side that one cell covers; the last cells may cover fewer.
    """

    top: int
    left: int
    bottom: int
    right: int
    by: int = 1

    def __post_init__(self) -> None:
        """Refuse what is no rectangle."""
        if not (0 <= self.top < self.bottom and 0 <= self.left < self.right and self.by >= 1):
            raise ConfigError(
                f"tile must be top < bottom and left < right, by at least 1; got {self}."
            )

    @property
    def shape(self) -> tuple[int, int]:
        """Cells down and across."""
        return -(-(self.bottom - self.top) // self.by), -(-(self.right - self.left) // self.by)


@dataclass(frozen=True)
class Survey:
    """What one pass over a whole head finds.

    Attributes:
        overview: the largest weight of each block of by × by cells; NaN where none is shown.
        by: tokens a side that one cell of the overview covers.
        row_maxima: (query,), the largest weight of each row; NaN where none is shown.
        strongest: the strongest cells, ties in the text's order; none with a weight of 0.
        name: no other survey's.
    """

    overview: Weights
    by: int
    row_maxima: Weights
    strongest: tuple[Cell, ...]
    name: str = field(default_factory=lambda: uuid.uuid4().hex)


@dataclass(frozen=True)
class LongHead:
    """One head of a run, as it is shown.

    Attributes:
        record: the run.
        layer: which layer.
        head: which head.
        hide_first: whether the first token's weight is left out and the rest renormalised.
    """

    record: Tiled
    layer: int
    head: int
    hide_first: bool = False

    def row(self, query: int) -> Weights:
        """What one token looks at: (key,), NaN where it cannot look."""
        row: Weights = _gaps(self._rows(query, query + 1, slice(None)))[0]
        return row

    def tile(self, tile: Tile) -> Weights:
        """The largest weight of each cell of a tile: NaN where it has none.

        Args:
            tile: within the pattern; exact weights where `by` is 1.
        """
        found = [
            _largest(self._rows(start, stop, slice(tile.left, tile.right)), tile.by)
            for start, stop in self._blocks(tile.top, tile.bottom, tile.by)
        ]
        return _gaps(np.concatenate(found))

    def survey(self, progress: Progress | None = None) -> Survey:
        """One pass over the whole head.

        Args:
            progress: called after each block with the share that is done; what it raises ends it.
        """
        by = step(self.record.seq_len, OVERVIEW)
        cells, maxima, strongest = [], [], list[Cell]()
        for start, stop in self._blocks(0, self.record.seq_len, by):
            block = self._rows(start, stop, slice(None))
            cells.append(_largest(block, by))
            maxima.append(block.max(axis=1))
            strongest = _strongest(strongest, block, start)
            if progress is not None:
                progress(stop / self.record.seq_len)
        return Survey(
            _gaps(np.concatenate(cells)), by, _gaps(np.concatenate(maxima)), tuple(strongest)
        )

    def _blocks(self, top: int, bottom: int, by: int) -> Iterator[tuple[int, int]]:
        """Rows from top to bottom, so many at a time that few weights are held."""
        rows = max(1, BLOCK_CELLS // (self.record.seq_len * by)) * by
        for start in range(top, bottom, rows):
            yield start, min(bottom, start + rows)

    def _rows(self, start: int, stop: int, columns: slice) -> Weights:
        """Some rows, -1 where nothing is shown."""
        pattern = self.record.pattern(self.layer, self.head, rows=slice(start, stop))
        if self.hide_first:
            pattern = without_first(pattern)
        empty = np.isnan(pattern[:, -1])  # rows with nothing but a hidden first token
        shown, left = pattern[:, columns], columns.start or 0
        window = self.record.window(self.layer)
        for row, after in enumerate(range(start + 1, stop + 1)):
            shown[row, max(0, after - left) :] = -1
            if window is not None:
                shown[row, : max(0, after - window - left)] = -1
        if self.hide_first and left == 0:
            shown[:, 0] = -1
        shown[empty] = -1
        return shown


def _gaps(filled: Weights) -> Weights:
    return np.where(filled < 0, np.float32(np.nan), filled)


def _largest(block: Weights, by: int) -> Weights:
    """The largest of each by × by cells; rows first, which leaves little for the columns."""
    if by == 1:
        return block
    height, width = (-(-side // by) * by for side in block.shape)
    if (height, width) != block.shape:
        padded = np.full((height, width), -1, dtype=np.float32)
        padded[: block.shape[0], : block.shape[1]] = block
        block = padded
    tall = block.reshape(height // by, by, width).max(axis=1)
    found: Weights = tall.reshape(height // by, width // by, by).max(axis=2)
    return found


def _strongest(before: list[Cell], block: Weights, start: int) -> list[Cell]:
    """The strongest cells of all rows up to this block's last.

    Args:
        before: those of the rows above, which come first among equal ones.
        block: whole rows.
        start: the first row's query.
    """
    flat, width = block.ravel(), block.shape[1]
    least = before[-1][2] if len(before) == STRONGEST else 0.0
    places = np.flatnonzero(flat > least)
    if len(places) > STRONGEST:
        values = flat[places]
        places = places[values >= np.partition(values, -STRONGEST)[-STRONGEST]]
    order = places[np.argsort(-flat[places], kind="stable")][:STRONGEST]
    found = [(start + int(at) // width, int(at) % width, float(flat[at])) for at in order]
    return sorted([*before, *found], key=lambda cell: -cell[2])[:STRONGEST]
