"""What the pictures need of a run beyond itself, worked out once: labels and thumbnails."""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Union

import numpy as np

from components.first_map import FirstMap, Habit
from components.looks import Look, Weights, shown_pattern, thumbnails

if TYPE_CHECKING:
    from attention.record import RunRecord

Record = Union["RunRecord", FirstMap]
Habits = Sequence[Sequence[Habit | None]]  # [layer][head]


class _Key:
    """A record as a key: equal only to itself, and kept alive so that no other takes its place."""

    def __init__(self, record: Record) -> None:
        self.record = record

    def __hash__(self) -> int:
        return id(self.record)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.record is self.record


def labels(record: Record) -> Habits:
    """What each head mostly does on this text: [layer][head]."""
    return record.habits if isinstance(record, FirstMap) else _labels(_Key(record))


@lru_cache(maxsize=8)
def _labels(key: _Key) -> Habits:
    from attention.scores import head_scores, label_heads

    assert not isinstance(key.record, FirstMap)  # brings its own
    return label_heads(head_scores(key.record))


def layer_thumbnails(record: Record, layer: int, size: int, look: Look) -> Weights:
    """All heads of a layer: see `looks.thumbnails`."""
    return _layer(_Key(record), layer, size, look.hide_first)


@lru_cache(maxsize=64)
def _layer(key: _Key, layer: int, size: int, hide_first: bool) -> Weights:
    return thumbnails(key.record, layer, size, Look(hide_first=hide_first))


def all_thumbnails(record: Record, size: int, look: Look) -> Weights:
    """All heads of all layers: (layer, head, side, side)."""
    layers = range(record.num_layers)
    return np.stack([layer_thumbnails(record, layer, size, look) for layer in layers])


def head_pattern(record: Record, layer: int, head: int, look: Look) -> Weights:
    """One head as it is shown: see `looks.shown_pattern`."""
    return _head(_Key(record), layer, head, look.hide_first)


@lru_cache(maxsize=8)
def _head(key: _Key, layer: int, head: int, hide_first: bool) -> Weights:
    return shown_pattern(key.record, layer, head, Look(hide_first=hide_first))
