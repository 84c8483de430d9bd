"""One pass over a layer's patterns for all that is drawn and told of its heads."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool
from numpy.typing import NDArray
from torch import Tensor

from attention.errors import require_head, require_positive
from attention.layer_record import LayerRecord
from attention.memory import memory_errors_as_sentences
from attention.pooling import down, squares
from attention.progress import Progress
from attention.record import RunRecord
from attention.scores import HEAD_METRICS, Metric
from attention.scores.blocks import RowBlock, blocks_of, together
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
    [scan] = scan_layers(
        record, [layer], size=size, hide_first=hide_first, metrics=metrics, progress=progress
    )
    return scan


def scan_layers(
    record: RunRecord,
    layers: Sequence[int],
    *,
    size: int,
    hide_first: bool = False,
    metrics: Mapping[str, Metric] | None = None,
    progress: Progress | None = None,
) -> Iterator[LayerScan]:
    """As `scan_layer`, of several layers: sooner than one by one where the text is short.

    Yields:
        the scan of each layer as soon as it is there, in the order given.
    """
    for layer in layers:
        require_head(layer, 0, num_layers=record.num_layers, num_heads=record.num_heads)
    require_positive("size", size)
    step, ids = -(-record.seq_len // size), record.tokens.ids
    measured, done = HEAD_METRICS if metrics is None else metrics, 0
    for group, heads in together(record, layers):
        with memory_errors_as_sentences(heads.q.device):
            tallies = Tallies(measured, ids, num_heads=heads.q.shape[0])
            thumbnails = _Thumbnails(heads, step, hide_first)
            for block in blocks_of(heads, ids, step=step):
                tallies.add(block)
                thumbnails.add(block)
                if progress is not None:
                    rows = done * len(ids) + len(group) * len(block.ids)
                    progress(rows / (len(layers) * len(ids)))
            pooled, scores = thumbnails.found(), tallies.scores()
        done += len(group)
        for index in range(len(group)):
            own = slice(index * record.num_heads, (index + 1) * record.num_heads)
            yield LayerScan(pooled[own], {name: found[own] for name, found in scores.items()})


class _Thumbnails:
    """The largest weights of the blocks that were seen so far."""

    def __init__(self, layer: LayerRecord, step: int, hide_first: bool) -> None:
        num_heads, seq_len, _ = layer.q.shape
        side = -(-seq_len // step)
        self._step, self._hide_first, self._window = step, hide_first, layer.rule.window
        self._cells = torch.full(
            (num_heads, side, side),
            NOTHING if hide_first else 0.0,
            dtype=torch.float32,
            device=layer.q.device,
        )

    def add(self, block: RowBlock) -> None:
        """Pool a block, whose weights are no longer needed."""
        shown = self._without_first(block) if self._hide_first else None
        found = squares(block.pattern, self._step).float()
        if shown is not None:
            found = found.masked_fill(~shown, NOTHING)
        top = (len(block.ids) - len(block.queries)) // self._step
        here = self._cells[:, top : top + found.shape[1], : found.shape[2]]
        torch.maximum(here, found, out=here)

    def _without_first(self, block: RowBlock) -> Bool[Tensor, "head row column"]:
        """Take the first token out of a block, and tell which squares show anything then."""
        block.pattern[..., 0] = 0
        rest = block.pattern.sum(dim=-1, keepdim=True)  # head query 1
        block.pattern.div_(rest.masked_fill(rest == 0, 1))
        first = (block.queries - (self._window or len(block.ids)) + 1).clamp(min=1)
        columns = torch.arange(-(-len(block.ids) // self._step), device=rest.device)
        reached = columns >= first[:, None] // self._step  # query column
        reached &= (columns <= block.queries[:, None] // self._step) & (block.queries > 0)[:, None]
        if not (rest[:, block.queries > 0] == 0).any():
            return down(reached[None], self._step)
        return down(reached & (rest != 0), self._step)

    def found(self) -> NDArray[np.float32]:
        """(head, side, side)."""
        cells = self._cells
        if self._hide_first:
            cells = cells.masked_fill(cells < 0, torch.nan)
        found: NDArray[np.float32] = cells.cpu().numpy()
        return found
