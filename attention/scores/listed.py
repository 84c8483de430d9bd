"""The cells of the templates one by one, found without going through a whole square of cells.

Each function gives the same cells as the template of its name does, row by row: see
`ShareOn.listed`.
"""

import numpy as np
from numpy.typing import NDArray

from attention.scores.metric import ListedCells


def previous_token(ids: NDArray[np.int64], _most: int) -> ListedCells:
    """See the template."""
    queries = np.arange(1, len(ids))
    return queries, queries - 1


def current_token(ids: NDArray[np.int64], _most: int) -> ListedCells:
    """See the template."""
    queries = np.arange(len(ids))
    return queries, queries


def first_token(ids: NDArray[np.int64], _most: int) -> ListedCells:
    """See the template."""
    queries = np.arange(1, len(ids))
    return queries, np.zeros_like(queries)


def duplicate_token(ids: NDArray[np.int64], most: int) -> ListedCells | None:
    """See the template."""
    return _telling_copies(ids, most, after=0)


def induction(ids: NDArray[np.int64], most: int) -> ListedCells | None:
    """See the template."""
    return _telling_copies(ids, most, after=1)


def _telling_copies(ids: NDArray[np.int64], most: int, *, after: int) -> ListedCells | None:
    """Cells (i, j + after) where token j is the same as token i, as far as `telling` keeps them."""
    seq_len = len(ids)
    order = np.argsort(ids, kind="stable")  # equal tokens side by side, as they come in the text
    same = ids[order]
    begins = np.searchsorted(same, ids)  # per token where its copies begin in `order`
    rank = np.empty(seq_len, dtype=np.int64)
    rank[order] = np.arange(seq_len) - begins[order]  # per token its earlier copies
    rows = np.arange(seq_len)
    fresh = np.append(False, ids[1:] != ids[:-1])
    # At most two copies are too near or first: where the others are too many, none is looked at.
    rows = rows[fresh & (rank > 0) & (4 * (rank - 2) <= rows + 1)]
    counts = rank[rows]
    if counts.sum() > most + 2 * len(rows):
        return None
    queries = np.repeat(rows, counts)
    within = np.arange(len(queries)) - np.repeat(np.cumsum(counts) - counts, counts)
    keys = order[begins[queries] + within] + after
    far = (keys > 0) & (keys < queries - 1)
    queries, keys = queries[far], keys[far]
    few = 4 * np.bincount(queries, minlength=seq_len) <= np.arange(seq_len) + 1
    return queries[few[queries]], keys[few[queries]]
