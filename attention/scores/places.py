"""Which cells of a text belong to a template: found once, for all its layers and heads."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray

from attention.pooling import blocks
from attention.scores.metric import Cells

FEW = 1 / 16  # of all cells: more are sooner read all, and would take much memory
CELLS_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Places:
    """The cells of a template on a text.

    Attributes:
        queries: of each cell, in the order of the rows.
        keys: of each cell.
        starts: (seq_len + 1,), where the cells of each row begin, and the end of all.
        num_rows: rows that have a cell.
    """

    queries: NDArray[np.int32]
    keys: NDArray[np.int32]
    starts: NDArray[np.int64]
    num_rows: int

    def within(self, rows: range) -> NDArray[np.int64]:
        """The cells of some rows, as indices into these up to the key at the last of them."""
        some = slice(self.starts[rows.start], self.starts[rows.stop])
        return (self.queries[some].astype(np.int64) - rows.start) * rows.stop + self.keys[some]


@lru_cache(maxsize=16)  # the templates of two or three texts, each at most a few megabytes
def places_of(cells: Cells, ids: tuple[int, ...]) -> Places | None:
    """The cells of a template on a text; None where they are not few.

    Args:
        cells: the template.
        ids: the text.
    """
    seq_len, found, count = len(ids), list[NDArray[np.int64]](), 0
    text, positions = torch.tensor(ids), torch.arange(seq_len)
    for rows in blocks(seq_len, 1, CELLS_AT_ONCE):
        chosen = cells(positions[rows.start : rows.stop], text[: rows.stop]).nonzero().numpy()
        chosen[:, 0] += rows.start
        found.append(chosen)
        count += len(chosen)
        if count > 4 * seq_len + FEW * seq_len**2 / 2:
            return None
    queries, keys = np.concatenate(found).astype(np.int32).T
    starts = np.searchsorted(queries, np.arange(seq_len + 1))
    return Places(queries, keys, starts, int(np.count_nonzero(np.diff(starts))))


def indices(places: Sequence[Places], rows: range) -> tuple[NDArray[np.int64], list[int]]:
    """The cells of several templates in some rows, one after the other, and how many of each."""
    parts = [place.within(rows) for place in places]
    return np.concatenate(parts), [len(part) for part in parts]
