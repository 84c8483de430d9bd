"""What a head metric is: a measure of blocks of pattern rows, summed up into one number a head."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from attention.scores.blocks import RowBlock, positions


@dataclass(frozen=True)
class Tally:
    """What a metric found in one block; blocks add up, and the score is total / count.

    Attributes:
        total: the sum for each head.
        count: over how many cells or rows, the same for every head.
    """

    total: Float[Tensor, " head"]
    count: int


Cells = Callable[[Int[Tensor, " query"], Int[Tensor, " key"]], Bool[Tensor, "query key"]]
ListedCells = tuple[NDArray[np.integer], NDArray[np.integer]]  # queries in order, and keys
Listed = Callable[[NDArray[np.int64], int], ListedCells | None]


@dataclass(frozen=True)
class Metric:
    """One number about a head's pattern on a text, from 0 to 1.

    Attributes:
        name: its key in HEAD_METRICS.
        title: what a person sees.
        summary: what it measures, in one sentence.
        label: the short tag of a head that scores high.
        threshold: the least score that earns the label.
        measure: what it finds in a block of rows.
        is_rest: whether this is where a head rests while it has nothing to do, so that any
            other label that it earns says more.
    """

    name: str
    title: str
    summary: str
    label: str
    threshold: float
    measure: Callable[[RowBlock], Tally]
    is_rest: bool = False


@dataclass(frozen=True)
class ShareOn:
    """The measure of a template: the share of a row's weight on its cells, averaged over rows.

    Rows without a cell of the template are left out.

    Attributes:
        cells: given the queries and all token ids, which cells belong to the template. They
            depend on nothing else: those of a text are found once for all layers and kept.
        listed: given all token ids, the queries and the keys of the same cells, row by row; None
            where they are more than a number, which is given too. For templates whose cells are
            found sooner in that way.
    """

    cells: Cells
    listed: Listed | None = None

    def __call__(self, block: RowBlock) -> Tally:
        """What is found in a block of rows."""
        chosen = self.cells(block.queries, block.ids)
        weights = block.pattern.flatten(1)  # head (query key)
        total = weights @ chosen.flatten().to(weights.dtype)  # reads them once, copies nothing
        return Tally(total, int(chosen.any(dim=1).sum()))


def share_on(cells: Cells, listed: Listed | None = None) -> ShareOn:
    """The measure of a template: see `ShareOn`."""
    return ShareOn(cells, listed)


def telling(
    cells: Bool[Tensor, "query key"], queries: Int[Tensor, " query"], ids: Int[Tensor, " key"]
) -> Bool[Tensor, "query key"]:
    """The cells of a repeat that tell one kind of head from another.

    Left out are cells that a simpler template claims (the first, the previous and the current
    token): in `a b a b` the token after the earlier copy is also the previous token, and a head
    that always looks one token back would pass for one that looks for repeats. So are whole rows
    that repeat the token just before, as in `la la la la`, and those where the cells are more than
    a quarter of what can be attended to: heads of any kind would score there.
    """
    keys = positions(ids)
    far = cells & (keys > 0) & (keys < queries[:, None] - 1)
    few = 4 * far.sum(dim=1) <= queries + 1
    fresh = ids[queries] != ids[(queries - 1).clamp(min=0)]
    return far & (few & fresh)[:, None]
