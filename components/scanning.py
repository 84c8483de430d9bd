"""All heads of a run at a glance: the layer that is asked for at once, the others meanwhile."""

import threading
import time
import uuid
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar

from attention.errors import HeadscopeError
from attention.progress import CancelledError, Progress, until
from components.figures.overview import Best
from components.first_map import Habit, Habits
from components.looks import Weights

MOST_MADE = 16  # pictures of one run that are kept
Made = TypeVar("Made")
ASIDE_S = 0.002  # between two layers, for whoever waits for the turn


@dataclass(frozen=True)
class SeenLayer:
    """What one pass over a layer found.

    Attributes:
        thumbnails: (head, side, side), the largest weight of each square; NaN where none is shown.
        habits: what each head mostly does on the text.
        best: each head's highest score; None where there is none.
    """

    thumbnails: Weights
    habits: Sequence[Habit | None]
    best: Sequence[Best | None]


LookAt = Callable[[Sequence[int], Progress | None], Iterable[SeenLayer]]


class Scan:
    """The layers of one run, as far as they have been looked at; threads may share it.

    Args:
        num_layers: of the run.
        look_at: looks at some layers, in the order given.
        turn: held while a layer is looked at in the background, so that nothing is timed then.
    """

    def __init__(
        self,
        num_layers: int,
        look_at: LookAt,
        *,
        turn: AbstractContextManager[object] | None = None,
    ) -> None:
        self.num_layers = num_layers
        self.name = uuid.uuid4().hex  # no other scan's
        self.failure: HeadscopeError | None = None
        self._look_at = look_at
        self._turn = turn or nullcontext()
        self._seen: dict[int, SeenLayer] = {}
        self._made: dict[Hashable, Any] = {}
        self._readers: set[object] = set()
        self._stopped = False
        self._lock = threading.Lock()
        self._called_off = threading.Event()
        self._thread: threading.Thread | None = None
        self._began = (0.0, 0)  # when, and how many layers were there then
        self._share = 0.0  # of the layer that is being looked at

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What a picture is made of, made once; the key names all that it depends on but the run.

        The oldest go where there are many.
        """
        made: Made = self._made.pop(key) if key in self._made else make()
        self._made[key] = made
        for oldest in list(self._made)[: max(0, len(self._made) - MOST_MADE)]:
            self._made.pop(oldest, None)
        return made

    def layer(self, layer: int, progress: Progress | None = None) -> SeenLayer:
        """One layer, looked at now unless it is there.

        Args:
            layer: from 0.
            progress: called now and then with the share that is done; what it raises ends it.
        """
        if layer not in self._seen:
            [self._seen[layer]] = self._look_at([layer], progress)
        return self._seen[layer]

    def all_now(self) -> None:
        """Look at every layer that is not there yet."""
        missing = self.missing
        for layer, found in zip(missing, self._look_at(missing, None), strict=True):
            self._seen[layer] = found

    @property
    def done(self) -> list[int]:
        """The layers that are there."""
        return sorted(self._seen)

    @property
    def missing(self) -> list[int]:
        """The layers that are not."""
        return [layer for layer in range(self.num_layers) if layer not in self._seen]

    @property
    def habits(self) -> Habits | None:
        """What each head mostly does, [layer][head]; None until every layer is there."""
        if self.missing:
            return None
        return [self._seen[layer].habits for layer in range(self.num_layers)]

    @property
    def is_running(self) -> bool:
        """Whether layers are being looked at in the background."""
        alive = self._thread is not None and self._thread.is_alive()
        return alive and not self._called_off.is_set()

    @property
    def seconds_left(self) -> float | None:
        """About how long the rest takes; None where nothing is known yet."""
        begun, there = self._began
        looked_at = len(self._seen) - there + self._share
        if not self.is_running or looked_at <= 0:
            return None
        left = len(self.missing) - self._share
        return (time.monotonic() - begun) / looked_at * left

    def start(self, reader: object) -> None:
        """Look at the missing layers in the background, for as long as a reader wants them."""
        with self._lock:
            self._readers.add(reader)
            if self._stopped or not self.missing or self.is_running:
                return
            self.failure = None
            self._called_off = threading.Event()
            self._began, self._share = (time.monotonic(), len(self._seen)), 0.0
            self._thread = threading.Thread(
                target=self._work, args=(self._called_off,), daemon=True
            )
            self._thread.start()

    def leave(self, reader: object) -> None:
        """A reader wants the rest no more; nobody looks at what nobody wants."""
        with self._lock:
            self._readers.discard(reader)
            if not self._readers:
                self._called_off.set()

    def stop(self) -> None:
        """Look at no more layers, whoever wants them, until told to go on."""
        self._stopped = True
        self._called_off.set()

    def go_on(self) -> None:
        """Look at the rest after all, when a reader starts it."""
        self._stopped = False

    def _work(self, called_off: threading.Event) -> None:
        def note(share: float) -> None:
            self._share = share

        try:
            for layer in self.missing:
                with self._turn:
                    self.layer(layer, until(called_off, note))
                    self._share = 0.0
                time.sleep(ASIDE_S)
        except CancelledError:
            pass
        except HeadscopeError as error:
            self.failure = error
