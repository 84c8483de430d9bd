"""What the pictures need of a run beyond itself, worked out once: labels and thumbnails.

Of a long text no head is ever held whole, and what all heads are needed for is worked out on as
much of it as takes half a minute.
"""

import math
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Union, cast

import numpy as np

from components import long_head
from components.first_map import FirstMap, Habit
from components.long_head import LongHead, Survey
from components.looks import Look, Weights, shown_pattern, thumbnails

if TYPE_CHECKING:
    from attention.record import RunRecord

Record = Union["RunRecord", FirstMap]
Habits = Sequence[Sequence[Habit | None]]  # [layer][head]
KEPT_PATTERNS = 8  # whole patterns of each record; the last ones looked at
KEPT_SURVEYS = 16  # the same of a long text
LONGEST_WHOLE = 512  # tokens; a head of more is read in blocks
MOST_WEIGHTS = 1_000_000_000  # of all heads together: half a minute's work for two cores


@dataclass
class _Kept:
    """What was worked out of one record, as long as the record lasts."""

    labels: Habits | None = None
    layers: dict[tuple[int, int, bool], Weights] = field(default_factory=dict)
    heads: dict[tuple[int, int, bool], Weights] = field(default_factory=dict)
    surveys: dict[tuple[int, int, bool], Survey] = field(default_factory=dict)
    beginning: "RunRecord | None" = None


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

        kept.labels = label_heads(head_scores(cast("RunRecord", beginning(record))))
    return kept.labels


def is_long(record: Record) -> bool:
    """Whether a head of this run is read in blocks."""
    return record.seq_len > LONGEST_WHOLE


def beginning(record: Record) -> Record:
    """As much of a run as all its heads can be looked at soon: mostly all of it.

    The habits and the small map of all heads are those of this part.
    """
    most = math.isqrt(MOST_WEIGHTS // (record.num_layers * record.num_heads))
    if isinstance(record, FirstMap) or record.seq_len <= most:
        return record
    kept = _of(record)
    if kept.beginning is None:
        kept.beginning = _first(record, most)
    return kept.beginning


def _first(record: "RunRecord", count: int) -> "RunRecord":
    """The heads as if only the first tokens had been run: no token sees those after it."""
    layers = tuple(
        replace(one, q=one.q[:, :count], k=one.k[:, :count], v=one.v[:, :count])
        for one in record.layers
    )
    return replace(record, tokens=record.tokens.first(count), layers=layers)


def layer_thumbnails(record: Record, layer: int, size: int, look: Look) -> Weights:
    """All heads of a layer: see `looks.thumbnails`."""
    kept, key = _of(record).layers, (layer, size, look.hide_first)
    if key not in kept:
        if look.hide_first and not isinstance(record, FirstMap) and is_long(record):
            heads = range(record.num_heads)
            kept[key] = long_head.thumbnails(record, layer, heads, size, hide_first=True)
        else:
            kept[key] = thumbnails(record, layer, size, look)
    return kept[key]


def all_thumbnails(record: Record, size: int, look: Look) -> Weights:
    """All heads of all layers, at the beginning of the text: (layer, head, side, side)."""
    seen, layers = beginning(record), range(record.num_layers)
    return np.stack([layer_thumbnails(seen, layer, size, look) for layer in layers])


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


@dataclass(frozen=True)
class Short:
    """A head that is held whole.

    Attributes:
        pattern: as it is shown.
    """

    pattern: Weights

    def row(self, query: int) -> Weights:
        """What one token looks at."""
        row: Weights = self.pattern[query]
        return row

    @property
    def for_sentence(self) -> Weights:
        """What `sentences.of_head` needs of it."""
        return self.pattern


@dataclass(frozen=True)
class Long:
    """A head that is read in blocks.

    Attributes:
        long: it.
        survey: what one pass over it found.
    """

    long: LongHead
    survey: Survey

    def row(self, query: int) -> Weights:
        """What one token looks at."""
        return self.long.row(query)

    @property
    def for_sentence(self) -> Weights:
        """What `sentences.of_head` needs of it: of each row the largest weight."""
        return self.survey.row_maxima[:, None]


def one_head(record: Record, layer: int, head: int, look: Look) -> Short | Long:
    """The head that is looked at."""
    if isinstance(record, FirstMap) or not is_long(record):
        return Short(head_pattern(record, layer, head, look))
    long = LongHead(record, layer, head, look.hide_first)
    return Long(long, _survey(record, long))


def _survey(record: Record, long: LongHead) -> Survey:
    kept, key = _of(record).surveys, (long.layer, long.head, long.hide_first)
    found = kept.pop(key, None)
    if found is None:
        found = long.survey()
    for oldest in list(kept)[: max(0, len(kept) + 1 - KEPT_SURVEYS)]:
        kept.pop(oldest, None)
    kept[key] = found
    return found
