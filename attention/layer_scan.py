"""One pass over a layer's patterns for all that is drawn and told of its heads."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float32
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from attention.errors import require_head, require_positive
from attention.memory import memory_errors_as_sentences
from attention.progress import Progress
from attention.record import RunRecord
from attention.scores import HEAD_METRICS, Metric
from attention.scores.blocks import RowBlock, row_blocks
from attention.scores.tallies import Tallies

NOTHING = -1.0  # less than any weight: where none is shown


@dataclass(frozen=True)
class LayerScan:
    """What one pass finds.

    Attributes:
        thumbnails: the largest weight of each square of cells, of each head: (head, side, side).
            Without the first token NaN where a square shows nothing, else 0 there.
        scores: for each metric (num_heads,), 0 to 1; NaN where the text has nothing to measure.
    """

    thumbnails: NDArray[np.float32]
    scores: Mapping[str, NDArray[np.float64]]


def scan_layer(
    record: RunRecord,
    layer: int,
    *,
    size: int,
    hide_first: bool = False,
    metrics: Mapping[str, Metric] | None = None,
    progress: Progress | None = None,
) -> LayerScan:
    """Thumbnails and scores of all heads of a layer, its patterns computed once, in blocks.

    Args:
        record: the run.
        layer: which layer, from 0.
        size: the most cells of a thumbnail's side.
        hide_first: whether thumbnails leave the first token out, the rest of each row scaled to
            sum to 1; scores are of the whole pattern all the same.
        metrics: what to measure; None for HEAD_METRICS.
        progress: called after each block of rows; what it raises ends the work.

    Returns:
        thumbnails as `RunRecord.pooled_layer` makes them (of the rest of each row if asked for),
        scores as `head_scores`.

    Raises:
        ConfigError: when there is no such layer, or size is below 1.
        DeviceError: when the record's device has no memory left.
    """
    require_head(layer, 0, num_layers=record.num_layers, num_heads=record.num_heads)
    require_positive("size", size)
    step = -(-record.seq_len // size)
    tallies = Tallies(HEAD_METRICS if metrics is None else metrics, record.num_heads)
    thumbnails = _Thumbnails(record, layer, step, hide_first)
    with memory_errors_as_sentences(record.layers[layer].q.device):
        for block in row_blocks(record, layer, step=step):
            tallies.add(block)
            thumbnails.add(block)
            if progress is not None:
                progress(len(block.ids) / record.seq_len)
        return LayerScan(thumbnails.found(), tallies.scores())


class _Thumbnails:
    """The largest weights of the blocks that were seen so far."""

    def __init__(self, record: RunRecord, layer: int, step: int, hide_first: bool) -> None:
        side, self.window = -(-record.seq_len // step), record.window(layer)
        self.step, self.hide_first = step, hide_first
        first = NOTHING if hide_first else 0.0
        shape, device = (record.num_heads, side, side), record.layers[layer].q.device
        self.cells = torch.full(shape, first, dtype=torch.float32, device=device)

    def add(self, block: RowBlock) -> None:
        """Pool a block, whose weights are no longer needed."""
        rows = _without_first(block, self) if self.hide_first else _in_steps(block, self.step)
        squares = _in_steps_down(rows, self.step)
        top = (len(block.ids) - len(block.queries)) // self.step
        here = self.cells[:, top : top + squares.shape[1], : squares.shape[2]]
        torch.maximum(here, squares, out=here)

    def found(self) -> NDArray[np.float32]:
        """(head, side, side)."""
        cells = self.cells
        if self.hide_first:
            cells = cells.masked_fill(cells < 0, torch.nan)
        return cells.cpu().numpy()


def _in_steps(block: RowBlock, step: int) -> Float32[Tensor, "head query column"]:
    """The largest weight of each `step` cells along each row."""
    pattern = block.pattern.float()
    across = functional.pad(pattern, (0, -pattern.shape[2] % step)).unflatten(2, (-1, step))
    return across.amax(dim=3)


def _in_steps_down(
    rows: Float32[Tensor, "head query column"], step: int
) -> Float32[Tensor, "head row column"]:
    down = functional.pad(rows, (0, 0, 0, -rows.shape[1] % step), value=NOTHING)
    return down.unflatten(1, (-1, step)).amax(dim=2)


def _without_first(block: RowBlock, how: _Thumbnails) -> Float[Tensor, "head query column"]:
    """As `_in_steps`, of rows that leave the first token out; NOTHING where none is shown."""
    block.pattern[..., 0] = 0
    rest = block.pattern.float().sum(dim=-1, keepdim=True)  # head query 1
    rows = _in_steps(block, how.step) / rest
    first, last = (block.queries - (how.window or len(block.ids)) + 1).clamp(min=1), block.queries
    column = torch.arange(rows.shape[2], device=rows.device)
    inside = (column >= first[:, None] // how.step) & (column <= last[:, None] // how.step)
    return rows.masked_fill((rest == 0) | ~inside, NOTHING)
