"""One pass over a layer's patterns for all that is drawn and told of its heads."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attention.errors import require_head, require_positive
from attention.memory import memory_errors_as_sentences
from attention.progress import Progress, from_to
from attention.record import RunRecord
from attention.scores import HEAD_METRICS, Metric
from attention.scores.blocks import together
from attention.scores.reading import one_pass
from attention.scores.tallies import Tallies
from attention.thumbnails import Thumbnails


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
    measured, done = HEAD_METRICS if metrics is None else metrics, 0.0
    for group, heads in together(record, layers):
        share = len(group) / len(layers)
        with memory_errors_as_sentences(heads.q.device):
            tallies = Tallies(measured, ids, num_heads=heads.q.shape[0])
            thumbnails = Thumbnails(heads, step, hide_first=hide_first)
            one_pass(heads, tallies, thumbnails, from_to(progress, done, done + share))
            pooled, scores = thumbnails.found(), tallies.scores()
        done += share
        for index in range(len(group)):
            own = slice(index * record.num_heads, (index + 1) * record.num_heads)
            yield LayerScan(pooled[own], {name: found[own] for name, found in scores.items()})
