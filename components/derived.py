"""What the pictures need of a run beyond itself, worked out once: labels and thumbnails."""

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Union

import numpy as np

from components.first_map import FirstMap, Habit
from components.looks import Look, Weights, shown_pattern, thumbnails

if TYPE_CHECKING:
    from attention.record import RunRecord

Record = Union["RunRecord", FirstMap]
Habits = Sequence[Sequence[Habit | None]]  # [layer][head]
KEPT_PATTERNS = 8  # whole patterns of each record; the last ones looked at


@dataclass
class _Kept:
    """What was worked out of one record, as long as the record lasts."""

    labels: Habits | None = None
    layers: dict[tuple[int, int, bool], Weights] = field(default_factory=dict)
    heads: dict[tuple[int, int, bool], Weights] = field(default_factory=dict)


_kept: dict[int, _Kept] = {}


def _of(record: Record) -> _Kept:
    """What is kept of a record; it keeps no record in memory itself."""
    key = id(record)
    if key not in _kept:
        _kept[key] = _Kept()
        weakref.finalize(record, _kept.pop, key, None)
    return _kept[key]


def labels(record: Record) -> Habits:
    """What each head mostly does on this text: [layer][head]."""
    if isinstance(record, FirstMap):
        return record.habits
    kept = _of(record)
    if kept.labels is None:
        from attention.scores import head_scores, label_heads

        kept.labels = label_heads(head_scores(record))
    return kept.labels


def layer_thumbnails(record: Record, layer: int, size: int, look: Look) -> Weights:
    """All heads of a layer: see `looks.thumbnails`."""
    kept, key = _of(record).layers, (layer, size, look.hide_first)
    if key not in kept:
        kept[key] = thumbnails(record, layer, size, look)
    return kept[key]


def all_thumbnails(record: Record, size: int, look: Look) -> Weights:
    """All heads of all layers: (layer, head, side, side)."""
    layers = range(record.num_layers)
    return np.stack([layer_thumbnails(record, layer, size, look) for layer in layers])


def head_pattern(record: Record, layer: int, head: int, look: Look) -> Weights:
    """One head as it is shown: see `looks.shown_pattern`."""
    kept, key = _of(record).heads, (layer, head, look.hide_first)
    pattern = kept.pop(key, None)
    if pattern is None:
        pattern = shown_pattern(record, layer, head, look)
    for oldest in list(kept)[: max(0, len(kept) + 1 - KEPT_PATTERNS)]:
        kept.pop(oldest, None)
    kept[key] = pattern
    return pattern
