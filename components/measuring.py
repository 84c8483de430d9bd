"""What the strip says of a text, measured in the background: no click waits for it."""

import logging
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import streamlit as st

from attention.errors import HeadscopeError
from attention.progress import CancelledError
from components import resources
from components.opening import Asked as AskedModel

if TYPE_CHECKING:
    from attention.difference import Difference
    from attention.model import LanguageModel
    from attention.tokens import Tokens

log = logging.getLogger("headscope")

ROUNDS = 4
FEWEST_ROUNDS = 1
LONGEST_S = 3.0  # no further round begins after that
SECONDS = 0.03  # an implementation and round
CALM_S = 0.5  # that the browser needs for new pictures: it and the timing would disturb each other
PATIENCE_S = 10.0  # what nobody asks about for so long is not measured
STEP_S = 0.05  # how often somebody who waits may be called off
MOST_KEPT = 16
THREAD = "measuring for the strip"
Samples = dict[str, list[float]]  # ms of a forward pass, by implementation
Value = TypeVar("Value")


@dataclass(frozen=True)
class Asked:
    """What is to be measured, with all that the times depend on.

    Attributes:
        model: one that is open.
        tokens: the text.
        heads: of each layer, that are run.
        threads: of torch, within an operator.
        names: the implementations that are timed.
        chosen: the implementation that made the pictures.
        other: the one that it is compared with.
    """

    model: AskedModel
    tokens: "Tokens"
    heads: int
    threads: int
    names: tuple[str, ...]
    chosen: str
    other: str

    @property
    def timed(self) -> Hashable:
        """What the times depend on: not on which two are compared."""
        return (self.model, self.tokens.ids, self.heads, self.threads, self.names)

    @property
    def compared(self) -> Hashable:
        """What the difference depends on: on no threads and not on the order."""
        return (self.model, self.tokens.ids, self.heads, frozenset((self.chosen, self.other)))


@dataclass
class Found:
    """What is known so far.

    Attributes:
        asked: of what.
        samples: as many of each implementation; empty before the first round is over.
        difference: between the chosen implementation and the other; None while it is not known.
        refused: why it cannot be known, in one sentence.
        error: why nothing can be timed, in one sentence.
        running: whether more is to come.
    """

    asked: Asked
    samples: Samples = field(default_factory=dict)
    difference: "Difference | None" = None
    refused: str | None = None
    error: str | None = None
    running: bool = False


class _DisturbedError(Exception):
    """The page was made meanwhile."""


class _Work:
    """One measurement that goes on, or ended early; its model is with its thread alone."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.cancelled = threading.Event()
        self.samples: Samples = {}
        self.error: str | None = None


class Measuring:
    """Times loop and batch of one text at a time in a thread; a session has one.

    Args:
        clock: seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._samples: dict[Hashable, Samples] = {}
        self._differences: dict[Hashable, Difference | str] = {}
        self._work: _Work | None = None
        self._polled = self._disturbed = clock()
        self._busy = False

    @contextmanager
    def held_off(self) -> Iterator[None]:
        """While the page is being made, nothing is timed, and what is being timed is not kept."""
        self._busy = True
        try:
            yield
        finally:
            self._busy, self._disturbed = False, self._clock()

    def known(self, asked: Asked) -> bool:
        """Whether a text is measured, or being measured."""
        with self._lock:
            return asked.timed in self._samples or self._is_about(asked)

    def want(self, asked: Asked, model: "LanguageModel", *, again: bool = False) -> Found:
        """How far a measurement is, which begins unless it is there; it ends any other.

        Args:
            asked: what is measured.
            model: the same as `asked.model`, opened.
            again: whether to forget the times that are there.
        """
        with self._lock:
            self._polled = self._clock()
            if again:
                self._samples.pop(asked.timed, None)
                self._drop_work()
            there = asked.timed in self._samples and asked.compared in self._differences
            if not there and not self._is_about(asked):
                self._drop_work()
                self._work = _Work(asked)
                given = (self._work, model)
                # No daemon: torch does not bear it that Python ends around it. See `_check`.
                threading.Thread(target=self._measure, args=given, name=THREAD).start()
            return self._found(asked)

    def end(self) -> None:
        """Measure nothing more: the session is over, or looks at something else."""
        with self._lock:
            self._drop_work()

    def _is_about(self, asked: Asked) -> bool:
        return self._work is not None and self._work.asked == asked

    def _drop_work(self) -> None:
        if self._work is not None:
            self._work.cancelled.set()
            self._work = None

    def _found(self, asked: Asked) -> Found:
        found = Found(asked, self._samples.get(asked.timed, {}))
        compared = self._differences.get(asked.compared)
        if isinstance(compared, str):
            found.refused = compared
        else:
            found.difference = compared
        if self._work is not None and self._is_about(asked):
            work = self._work
            found.samples = found.samples or work.samples
            found.error = work.error
            found.running = work.error is None
        return found

    def _measure(self, work: _Work, model: "LanguageModel") -> None:
        """The thread: round after round, then the comparison."""
        try:
            resources.use_threads(work.asked.threads)
            if work.asked.timed not in self._samples:
                self._time(work, model)
            if work.asked.compared not in self._differences:
                self._compare(work, model)
            self._leave(work)
        except CancelledError:
            self._leave(work)
        except HeadscopeError as error:
            work.error = str(error)
        except Exception as error:
            log.exception("The strip's measurement ended early")
            work.error = (
                f"This is our fault: measuring ended early ({type(error).__name__}). Please "
                "report it with the last lines in the terminal that Headscope was started from."
            )

    def _leave(self, work: _Work) -> None:
        with self._lock:
            if self._work is work:
                self._work = None

    def _time(self, work: _Work, model: "LanguageModel") -> None:
        names = work.asked.names
        samples: Samples = {name: [] for name in names}
        begun = self._clock()
        for turn in range(ROUNDS):
            if turn >= FEWEST_ROUNDS and self._clock() - begun > LONGEST_S:
                break  # a slow model or a busy machine: rather a few samples than a long wait
            for name in (*names[turn % len(names) :], *names[: turn % len(names)]):
                samples[name] += self._undisturbed(work, model, name)
            work.samples = {name: list(times) for name, times in samples.items()}
        self._keep(self._samples, work, work.asked.timed, work.samples)

    def _undisturbed(self, work: _Work, model: "LanguageModel", name: str) -> list[float]:
        """One implementation's samples of a round, taken while the page is not being made."""
        from attention.timing import time_forward

        while True:
            while self._busy or self._clock() - self._disturbed < CALM_S:
                self._check(work)
                time.sleep(STEP_S)
            with resources.timing_turn():
                begun = self._clock()

                def go_on(begun: float = begun) -> None:
                    self._check(work)
                    if self._busy or self._disturbed >= begun:
                        raise _DisturbedError

                try:
                    found = time_forward(
                        model,
                        work.asked.tokens,
                        [name],
                        num_heads=work.asked.heads,
                        min_run_time=SECONDS,
                        rounds=1,
                        before_each=go_on,
                    )
                    go_on()
                except _DisturbedError:
                    continue
            return found[name]

    def _compare(self, work: _Work, model: "LanguageModel") -> None:
        from attention.difference import compare

        self._check(work)
        asked = work.asked
        compared: Difference | str
        try:
            compared = compare(
                model, asked.tokens, asked.chosen, asked.other, num_heads=asked.heads
            )
        except HeadscopeError as error:
            compared = str(error)
        self._keep(self._differences, work, asked.compared, compared)

    def _check(self, work: _Work) -> None:
        """End the work where nobody waits for it, the model was unloaded, or the program ends."""
        ends = not threading.main_thread().is_alive()
        forgotten = self._clock() - self._polled > PATIENCE_S
        gone = resources.shelf().find(work.asked.model) is None
        if work.cancelled.is_set() or forgotten or gone or ends:
            raise CancelledError("nobody waits for the measurement any more.")

    def _keep(self, kept: dict[Hashable, Value], work: _Work, key: Hashable, value: Value) -> None:
        with self._lock:
            if not work.cancelled.is_set():
                kept[key] = value
                while len(kept) > MOST_KEPT:
                    del kept[next(iter(kept))]


@st.cache_resource(scope="session", show_spinner=False, on_release=Measuring.end)
def measuring() -> Measuring:
    """The session's; ended as soon as its tab is closed."""
    return Measuring()
