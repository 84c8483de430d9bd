"""What the pictures need of a run beyond itself, worked out once and kept as long as the run.

Of a long text no head is ever held whole.
"""

import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Union

import numpy as np
from numpy.typing import NDArray

from attention.progress import CancelledError, Progress
from components import looks, resources
from components.figures.grid import THUMBNAIL
from components.figures.overview import Best
from components.first_map import FirstMap
from components.long_head import LongHead, Survey
from components.looks import Look, Weights, shown_pattern
from components.scanning import LookAt, Scan, SeenLayer

if TYPE_CHECKING:
    from attention.layer_scan import LayerScan
    from attention.record import RunRecord

Record = Union["RunRecord", FirstMap]
KEPT_PATTERNS = 8  # whole patterns of each record; the last ones looked at
KEPT_SURVEYS = 16  # the same of a long text
LONGEST_WHOLE = 512  # tokens; a head of more is read in blocks
AT_ONCE = 16_000_000  # weights of all heads that are looked at while the reader waits: a blink


@dataclass
class _Kept:
    """What was worked out of one record, as long as the record lasts."""

    scans: dict[bool, Scan] = field(default_factory=dict)
    heads: dict[tuple[int, int, bool], Weights] = field(default_factory=dict)
    surveys: dict[tuple[int, int, bool], Survey] = field(default_factory=dict)


_kept: dict[int, _Kept] = {}


def _of(record: Record) -> _Kept:
    """What is kept of a record; it keeps no record in memory itself."""
    key = id(record)
    if key not in _kept:
        _kept[key] = _Kept()
        weakref.finalize(record, _kept.pop, key, None)
    return _kept[key]


def is_long(record: Record) -> bool:
    """Whether a head of this run is read in blocks."""
    return record.seq_len > LONGEST_WHOLE


def scan(record: Record, look: Look) -> Scan:
    """All heads at a glance: of a short text every layer is there, of others those seen so far."""
    kept = _of(record).scans
    if look.hide_first not in kept:
        if isinstance(record, FirstMap):
            found = Scan(record.num_layers, _stored(record, look))
        else:
            look_at = _looking(weakref.ref(record), look.hide_first)
            found = Scan(record.num_layers, look_at, turn=resources.timing_turn())
        kept[look.hide_first] = found
        if record.num_layers * record.num_heads * record.seq_len**2 <= AT_ONCE:
            found.all_now()
    return kept[look.hide_first]


def _stored(record: FirstMap, look: Look) -> LookAt:
    def look_at(layers: Sequence[int], _: Progress | None) -> Iterator[SeenLayer]:
        for layer in layers:
            habits = record.habits[layer]
            shown = looks.thumbnails(record, layer, THUMBNAIL, look)
            yield SeenLayer(shown, habits, [None] * len(habits))

    return look_at


def _looking(of: "weakref.ref[RunRecord]", hide_first: bool) -> LookAt:
    """Looks at layers of a record that others keep."""

    def look_at(layers: Sequence[int], progress: Progress | None) -> Iterator[SeenLayer]:
        import torch

        from attention.layer_scan import scan_layers

        record = of()
        if record is None:
            raise CancelledError("the run is looked at no more.")
        with torch.inference_mode():  # not inherited from the thread that ran the text
            found = scan_layers(
                record, layers, size=THUMBNAIL, hide_first=hide_first, progress=progress
            )
            for layer, one in zip(layers, found, strict=True):
                yield _seen(record, layer, one, hide_first)

    return look_at


def _seen(record: "RunRecord", layer: int, found: "LayerScan", hide_first: bool) -> SeenLayer:
    from attention.scores import HEAD_METRICS
    from attention.scores.labels import best_label

    shown = found.thumbnails
    if not hide_first:
        by = looks.step(record.seq_len, THUMBNAIL)
        shown = looks.only_seen(shown, looks.blocks_seen(record.window(layer), by))
    scores = {name: score[None] for name, score in found.scores.items()}
    heads = range(record.num_heads)
    habits = [best_label(HEAD_METRICS, scores, 0, head) for head in heads]
    return SeenLayer(shown, habits, [_best(scores, head) for head in heads])


def _best(scores: Mapping[str, NDArray[np.float64]], head: int) -> Best | None:
    """The template that a head fits best, well or not."""
    from attention.scores import HEAD_METRICS

    named = [
        (float(score[0, head]), HEAD_METRICS[name].label)
        for name, score in scores.items()
        if name != "entropy" and np.isfinite(score[0, head])
    ]
    score, label = max(named, default=(0.0, ""))
    return (label, score) if label else None


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


def one_head(
    record: Record, layer: int, head: int, look: Look, progress: Progress | None = None
) -> Short | Long:
    """The head that is looked at.

    Args:
        record: the run.
        layer: which layer.
        head: which head.
        look: whether the first token is hidden.
        progress: called now and then while a long head is read; what it raises ends that.
    """
    if isinstance(record, FirstMap) or not is_long(record):
        return Short(head_pattern(record, layer, head, look))
    long = LongHead(record, layer, head, look.hide_first)
    return Long(long, _survey(record, long, progress))


def _survey(record: Record, long: LongHead, progress: Progress | None) -> Survey:
    kept, key = _of(record).surveys, (long.layer, long.head, long.hide_first)
    found = kept.pop(key, None)
    if found is None:
        found = long.survey(progress)
    for oldest in list(kept)[: max(0, len(kept) + 1 - KEPT_SURVEYS)]:
        kept.pop(oldest, None)
    kept[key] = found
    return found
