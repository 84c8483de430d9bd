"""Which cells of a text belong to a template: found once, for all its layers and heads."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import torch
from numpy.typing import NDArray

from attention.pooling import blocks
from attention.scores.metric import Cells, ListedCells, ShareOn

FEW = 1 / 16  # of the cells that are seen: more are sooner read all, and would take much memory
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
def places_of(template: ShareOn, ids: tuple[int, ...]) -> Places | None:
    """The cells of a template on a text; None where they are not few.

    Args:
        template: which.
        ids: the text.
    """
    seq_len = len(ids)
    most = int(16 * seq_len + FEW * seq_len**2 / 2)
    text = np.array(ids, dtype=np.int64)
    found = (template.listed or partial(_sought, template.cells))(text, most)
    if found is None:
        return None
    queries, keys = (part.astype(np.int32) for part in found)
    starts = np.searchsorted(queries, np.arange(seq_len + 1))
    return Places(queries, keys, starts, int(np.count_nonzero(np.diff(starts))))


def _sought(cells: Cells, ids: NDArray[np.int64], most: int) -> ListedCells | None:
    """The cells of a template that does not list them: see `ShareOn.listed`."""
    text, positions = torch.from_numpy(ids), torch.arange(len(ids))
    queries, keys, count = [], [], 0
    for rows in blocks(len(ids), 1, CELLS_AT_ONCE):
        chosen = cells(positions[rows.start : rows.stop], text[: rows.stop])
        flat = np.flatnonzero(chosen.numpy())
        queries.append(flat // rows.stop + rows.start)
        keys.append(flat % rows.stop)
        count += len(flat)
        if count > most:
            return None
    return np.concatenate(queries), np.concatenate(keys)


def indices(places: Sequence[Places], rows: range) -> tuple[NDArray[np.int64], list[int]]:
    """The cells of several templates in some rows, one after the other, and how many of each."""
    parts = [place.within(rows) for place in places]
    return np.concatenate(parts), [len(part) for part in parts]
