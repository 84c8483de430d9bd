"""What a head metric is: a measure of blocks of pattern rows, summed up into one number a head."""

from collections.abc import Callable
from dataclasses import dataclass

from jaxtyping import Bool, Float, Int
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
    """

    name: str
    title: str
    summary: str
    label: str
    threshold: float
    measure: Callable[[RowBlock], Tally]


def mean_over(cells: Cells) -> Callable[[RowBlock], Tally]:
    """The measure of a template: the mean weight on its cells.

    Args:
        cells: given the queries and all token ids, which cells belong to the template.
    """

    def measure(block: RowBlock) -> Tally:
        chosen = cells(block.queries, block.ids)
        total = block.pattern.masked_fill(chosen.logical_not(), 0.0).sum(dim=(1, 2))
        return Tally(total, int(chosen.sum()))

    return measure


def far_keys(queries: Int[Tensor, " query"], ids: Int[Tensor, " key"]) -> Bool[Tensor, "query key"]:
    """Cells that no simpler template claims: not the first, the previous or the current token.

    In `a b a b` the token after the earlier copy is also the previous token: without this, a
    head that always looks one token back would pass for one that looks for repeats.
    """
    keys = positions(ids)
    return (keys > 0) & (keys < queries[:, None] - 1)
