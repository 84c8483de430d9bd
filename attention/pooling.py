"""Thumbnails of patterns, made in blocks of rows: no pattern is ever held whole."""

from collections.abc import Callable, Iterator
from math import isqrt
from typing import Literal

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from attention.progress import Progress

BLOCK_CELLS = 1 << 22  # weights held at a time: 16 MB in float32
Reduce = Literal["max", "mean"]
# Given some rows: the weights of these, and which of their cells may hold any.
Rows = Callable[[range], Float[Tensor, "head query key"]]
Allowed = Callable[[range], Bool[Tensor, "query key"]]


def pool(
    rows: Rows,
    allowed: Allowed,
    seq_len: int,
    size: int,
    reduce: Reduce,
    *,
    num_heads: int,
    progress: Progress | None = None,
) -> Float[Tensor, "head side side"]:
    """The largest or the mean weight of each square of cells.

    Args:
        rows: gives some rows of the patterns; keys after the last of them may be left out.
        allowed: gives the cells of these rows that may attend, as many: the mean is over them.
        seq_len: the side of the patterns.
        size: the most cells of a thumbnail's side.
        reduce: see `RunRecord.pooled_layer`.
        num_heads: how many patterns there are.
        progress: see `Progress`.

    Returns:
        float32, on the device of the rows; side = ceil(seq_len / ceil(seq_len / size)).
    """
    step = -(-seq_len // size)
    side = -(-seq_len // step)
    cells: Tensor | None = None
    count: Tensor | None = None
    for block in blocks(seq_len, step, BLOCK_CELLS // num_heads):
        found = squares(rows(block).float(), step, reduce)
        if cells is None:
            cells = found.new_zeros(num_heads, side, side)
            count = found.new_zeros(side, side)
        first, (_, height, width) = block.start // step, found.shape
        here = slice(first, first + height), slice(width)
        if reduce == "max":
            cells[:, *here] = torch.maximum(cells[:, *here], found)
        elif count is not None:
            cells[:, *here] += found
            count[here] += squares(allowed(block).float()[None], step, reduce)[0]
        if progress is not None:
            progress(block.stop / seq_len)
    assert cells is not None  # a text has at least one token
    assert count is not None
    return cells if reduce == "max" else cells / count.clamp(min=1)


def blocks(seq_len: int, step: int, cells: int) -> Iterator[range]:
    """All rows in order, so many that they have about so many cells up to the diagonal.

    A block is some whole steps or lies within one: its first row is that of a square, or all its
    rows are of the same squares.
    """
    start = 0
    while start < seq_len:
        rows, within = rows_at(start, cells), start % step
        rows = min(rows, step - within) if within or rows < step else rows // step * step
        yield range(start, min(seq_len, start + rows))
        start += rows


def rows_at(start: int, cells: int) -> int:
    """How many rows from `start` on have so many cells, each row as long as the last; at least 1.

    As blocks of about the same size, all can use the same memory one after the other.
    """
    return max(1, (isqrt(start * start + 4 * cells) - start) // 2)


def squares(
    weights: Shaped[Tensor, "head query key"], step: int, reduce: Reduce = "max"
) -> Shaped[Tensor, "head row column"]:
    """The largest weight, or the sum, of each step × step cells; the last ones may be smaller.

    Rows first: whole rows side by side are several times as fast as a few cells of one.
    """
    rows = down(weights, step, reduce)
    return down(rows.transpose(1, 2), step, reduce).transpose(1, 2)


def down(
    weights: Shaped[Tensor, "head query key"], step: int, reduce: Reduce = "max"
) -> Shaped[Tensor, "head row key"]:
    """As `squares`, of each `step` rows, the columns as they are."""
    if step == 1:
        return weights
    whole = weights.shape[1] // step * step
    parts = [weights[:, :whole].unflatten(1, (-1, step))] if whole else []
    parts += [weights[:, None, whole:]] if whole < weights.shape[1] else []
    reduced = [part.amax(dim=2) if reduce == "max" else part.sum(dim=2) for part in parts]
    return torch.cat(reduced, dim=1) if len(reduced) > 1 else reduced[0]
