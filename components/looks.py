"""From weights to what is drawn: hide the first token, pool, choose a range, pack into bytes.

Pure arithmetic on arrays, so that every picture shows the same weight the same way.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Weights = NDArray[np.float32]  # (..., query, key); NaN where a query cannot look
LOG_FLOOR = 1e-4  # on a log scale everything below, true zeros too, has the lowest colour
GAP, MASKED, LOWEST, HIGHEST = 0, 1, 2, 254  # codes of a packed cell; 255 is twice as long in JSON


@dataclass(frozen=True)
class Look:
    """How weights are shown.

    Attributes:
        scale: a key of `theme.SCALES`.
        log: whether colour follows the weight's logarithm.
        hide_first: whether the first token's weight is left out and the rest renormalised.
        to_maximum: whether the range ends at the largest weight shown instead of at 1.
    """

    scale: str = "cividis"
    log: bool = False
    hide_first: bool = False
    to_maximum: bool = False

    def top(self, *shown: Weights) -> float:
        """The end of the range that all `shown` share."""
        if not self.to_maximum:
            return 1.0
        largest = [float(np.nanmax(w)) for w in shown if np.isfinite(w).any()]
        top = max(largest, default=1.0)
        return top if top > LOG_FLOOR else 1.0

    def position(self, weights: Weights, top: float) -> Weights:
        """Where on the scale each weight is: 0 the lowest colour, 1 the highest, NaN stays."""
        if not self.log:
            linear: Weights = np.clip(weights / np.float32(top), 0, 1)
            return linear
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum(weights, LOG_FLOOR) / LOG_FLOOR)
        position: Weights = np.clip(logs / np.float32(np.log(top / LOG_FLOOR)), 0, 1)
        return position


class Patterns(Protocol):
    """What a picture needs of a run: `attention.RunRecord` fits."""

    @property
    def num_layers(self) -> int:
        """Layers in the run."""

    @property
    def num_heads(self) -> int:
        """Heads in each layer."""

    @property
    def seq_len(self) -> int:
        """Tokens."""

    def window(self, layer: int) -> int | None:
        """How many tokens a query of a layer may attend to, its own the last; None for all."""

    def pattern(self, layer: int, head: int) -> Weights:
        """One head's pattern."""

    def pooled_layer(self, layer: int, size: int) -> Weights:
        """Thumbnails of all heads of a layer."""


def only_seen(pattern: Weights, window: int | None = None) -> Weights:
    """A pattern with NaN where a query cannot look: keys after it, and those before its window.

    Args:
        pattern: (..., query, key), or its blocks.
        window: how many cells of a row are seen, the last one on the diagonal; None for all.
    """
    side = pattern.shape[-1]
    seen = np.tri(side, dtype=bool)
    if window is not None and window < side:
        seen &= ~np.tri(side, k=-window, dtype=bool)
    return np.where(seen, pattern, np.float32(np.nan))


def blocks_seen(window: int | None, by: int) -> int | None:
    """How many blocks of by × by cells a window reaches into, along a row of blocks.

    Args:
        window: in tokens; None for all.
        by: tokens a side one block covers.
    """
    return None if window is None else (window + 2 * by - 2) // by


def without_first(pattern: Weights) -> Weights:
    """A pattern with the first token hidden (NaN) and each row's rest scaled to sum to 1.

    A row that has nothing beside the first token is NaN throughout.
    """
    rest: Weights = pattern.copy()
    rest[..., 0] = 0
    total = rest.sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        rest = rest / total
    rest[..., 0] = np.nan
    return rest


def shown_pattern(record: Patterns, layer: int, head: int, look: Look) -> Weights:
    """One head's pattern as it is shown: (query, key), NaN where nothing is drawn."""
    pattern = record.pattern(layer, head)
    return only_seen(without_first(pattern) if look.hide_first else pattern, record.window(layer))


def thumbnails(record: Patterns, layer: int, size: int, look: Look) -> Weights:
    """All heads of a layer, max-pooled so that a single strong weight survives.

    Returns:
        (head, side, side), side at most `size`; NaN where no cell of a block is shown.
    """
    if not look.hide_first:
        reach = blocks_seen(record.window(layer), step(record.seq_len, size))
        return only_seen(record.pooled_layer(layer, size), reach)
    heads = [shown_pattern(record, layer, head, look) for head in range(record.num_heads)]
    return np.stack([pooled(pattern, size) for pattern in heads])


def step(seq_len: int, size: int) -> int:
    """How many tokens a side one cell of a thumbnail covers."""
    return -(-seq_len // size)


def pooled(pattern: Weights, size: int) -> Weights:
    """The largest weight of each block of step × step cells; NaN where a block has none."""
    seq_len = pattern.shape[-1]
    by = step(seq_len, size)
    side = -(-seq_len // by)
    filled = np.full((side * by, side * by), -1, dtype=np.float32)
    filled[:seq_len, :seq_len] = np.nan_to_num(pattern, nan=-1)
    blocks = filled.reshape(side, by, side, by).max(axis=(1, 3))
    return np.where(blocks < 0, np.float32(np.nan), blocks)


def packed(weights: Weights, look: Look, top: float) -> NDArray[np.uint8]:
    """Weights as one byte a cell: MASKED, or LOWEST to HIGHEST along the scale."""
    position = look.position(weights, top)
    steps = np.round(np.nan_to_num(position) * (HIGHEST - LOWEST)).astype(np.uint8) + LOWEST
    return np.where(np.isnan(weights), np.uint8(MASKED), steps).astype(np.uint8)
