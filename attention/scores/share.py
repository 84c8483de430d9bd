"""The other usual measure of a template: how much of all weight falls on its cells."""

from jaxtyping import Float
from torch import Tensor

from attention.record import RunRecord
from attention.scores.blocks import positions, row_blocks
from attention.scores.metric import Cells


def template_share(
    record: RunRecord,
    layer: int,
    cells: Cells,
    *,
    without_first: bool = False,
    without_current: bool = False,
) -> Float[Tensor, " head"]:
    """The share of a layer's weight that falls on a template, for each head.

    Args:
        record: the run.
        layer: which layer, from 0.
        cells: the template, such as `previous_token`.
        without_first: leave column 0 out, of the template and of all weight.
        without_current: leave the diagonal out likewise.

    Returns:
        0 to 1; NaN where nothing is left. The record stays as it is.

    Source: `detect_head` of TransformerLens, its error measure "mul".
    """
    on = whole = record.layers[layer].q.new_zeros(record.num_heads).float()
    for block in row_blocks(record, layer):
        keys = positions(block.ids)
        counted = block.pattern.new_ones(len(block.queries), len(keys)).bool()  # query key
        if without_first:
            counted &= keys > 0
        if without_current:
            counted &= keys != block.queries[:, None]
        weight = block.pattern * counted
        whole = whole + weight.sum(dim=(1, 2))
        on = on + (weight * cells(block.queries, block.ids)).sum(dim=(1, 2))
    return on / whole
