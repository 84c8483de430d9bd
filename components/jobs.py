"""Measuring in the background: a job of the session's own that never makes the page wait."""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from attention.errors import HeadscopeError
from components.job_work import Held, Work

if TYPE_CHECKING:
    from attention.benchmark import BenchmarkSettings, Measurement, Worker

log = logging.getLogger("headscope")

# A background tab may be allowed to ask once a minute only; a closed one releases its job at once.
PATIENCE_S = 90.0
WATCH_S = 1.0
KEPT = 16  # benchmarks whose points are remembered
# One measurement at a time, whoever asks: two would spoil each other's times.
TURN = threading.Lock()


@dataclass(frozen=True)
class Progress:
    """What a job has found and what it is doing.

    Attributes:
        measurements: all points of the benchmark asked about.
        running: whether more of them are to come.
        now: the head count being measured; None when none is.
        most: the largest head count that the work has.
        waiting: whether another tab's or program's measurement has its turn.
        done: head counts measured since the work began.
        of: head counts that the work has.
        seconds_left: an estimate; None before the first point.
        stopped: whether the reader stopped it before its end.
        error: why it ended early, in one sentence.
    """

    measurements: "tuple[Measurement, ...]" = ()
    running: bool = False
    now: int | None = None
    most: int = 0
    waiting: bool = False
    done: int = 0
    of: int = 0
    seconds_left: float | None = None
    stopped: bool = False
    error: str | None = None


class BenchmarkJob:
    """Measures head counts one after the other in a thread; a session has one.

    Args:
        make_worker: starts the process that measures, given the allocator.
        clock: seconds.
    """

    def __init__(
        self,
        make_worker: "Callable[[str], Worker] | None" = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._make_worker = make_worker or _start_worker
        self._clock = clock
        self._lock = threading.RLock()
        self._points: dict[BenchmarkSettings, dict[tuple[int, str], Measurement]] = {}
        self._worker: Worker | None = None
        self._work: Work | None = None
        self._held: Held | None = None
        self._error: str | None = None
        self._polled = clock()

    def want(self, settings: "BenchmarkSettings", heads: Iterable[int]) -> None:
        """See to it that these head counts are measured; those that are stay as they are.

        What the reader stopped stays stopped until something else is wanted, or `resume`.
        """
        asked = settings.family
        counts = tuple(heads)
        with self._lock:
            self._polled = self._clock()
            if self._held is not None and self._held.holds(asked, counts):
                return
            self._held = None
            work = self._work
            missing = [n for n in counts if not self._measured(asked, n)]
            if work is not None and work.settings == asked:
                work.settings = asked  # its patience may be another
                work.add(missing)
            elif missing:
                self._begin(asked, missing)
            elif work is not None:
                self._end()

    def sweep(self, settings: "BenchmarkSettings", heads: Iterable[int]) -> None:
        """Measure these head counts anew, whether measured before or not."""
        with self._lock:
            self._polled = self._clock()
            self._held = None
            self._begin(settings.family, list(heads))

    def stop(self, settings: "BenchmarkSettings", heads: Iterable[int]) -> None:
        """End the work now and keep the points; `heads` is what shall not begin again by itself."""
        with self._lock:
            left = self._work.left if self._work is not None else ()
            self._held = Held(settings.family, tuple(heads), tuple(left))
            self._end()

    def resume(self, settings: "BenchmarkSettings", heads: Iterable[int]) -> None:
        """Go on with what was stopped, and see to it that `heads` are measured."""
        with self._lock:
            held, self._held = self._held, None
            if held is not None and held.left and held.settings == settings.family:
                self._begin(settings.family, list(held.left))
            self.want(settings, heads)

    def close(self) -> None:
        """End everything: the session is over."""
        with self._lock:
            self._end()
            if self._worker is not None:
                self._worker.stop()
                self._worker = None

    def poll(self, settings: "BenchmarkSettings") -> Progress:
        """How far a benchmark is; also tells the job that somebody is still there."""
        asked = settings.family
        with self._lock:
            self._polled = self._clock()
            points = tuple(self._points.get(asked, {}).values())
            stopped = self._held is not None and self._held.settings == asked
            work = self._work
            if work is None or work.settings != asked:
                return Progress(points, stopped=stopped, error=self._error)
            done = len(work.all) - len(work.left)
            return Progress(
                points,
                running=True,
                now=work.left[0] if work.left else None,
                most=max(work.all, default=0),
                waiting=work.waiting or (work.measuring and self._worker_waits()),
                done=done,
                of=len(work.all),
                seconds_left=work.seconds_left(),
            )

    def _worker_waits(self) -> bool:
        """Whether a benchmark of another program on this machine has its turn."""
        return self._worker is not None and self._worker.waiting

    def _measured(self, settings: "BenchmarkSettings", num_heads: int) -> bool:
        points = self._points.get(settings, {})
        return all((num_heads, name) in points for name in settings.implementations)

    def _begin(self, settings: "BenchmarkSettings", heads: list[int]) -> None:
        self._end()
        self._error = None
        self._points.setdefault(settings, self._points.pop(settings, {}))  # now the newest
        while len(self._points) > KEPT:
            self._points.pop(next(iter(self._points)))
        work = self._work = Work(settings, heads)
        for target in (self._measure, self._watch):
            threading.Thread(target=target, args=(work,), daemon=True).start()

    def _end(self) -> None:
        """End the work; a worker in the middle of a measurement goes with it."""
        work, self._work = self._work, None
        if work is None:
            return
        work.cancelled.set()
        if self._worker is not None and work.measuring:
            self._worker.stop()
            self._worker = None

    def _measure(self, work: Work) -> None:
        """The thread: one head count after the other."""
        try:
            while (num_heads := self._next(work)) is not None:
                while not TURN.acquire(timeout=0.1):
                    work.waiting = True
                    if work.cancelled.is_set():
                        return
                try:
                    work.waiting = False
                    self._measure_one(work, num_heads)
                finally:
                    TURN.release()
        except HeadscopeError as error:
            self._fail(work, str(error))
        except Exception as error:
            log.exception("Measuring ended early")
            self._fail(
                work,
                f"This is our fault: measuring ended early ({type(error).__name__}). Please "
                "report it with the last lines in the terminal that Headscope was started from.",
            )

    def _next(self, work: Work) -> int | None:
        with self._lock:
            if work.cancelled.is_set():
                return None
            if not work.left:
                self._work = None
                return None
            return work.left[0]

    def _measure_one(self, work: Work, num_heads: int) -> None:
        with self._lock:
            if work.cancelled.is_set():
                return
            allocator = work.settings.allocator
            worker = self._worker
            if worker is None or not worker.alive or worker.allocator != allocator:
                if worker is not None:
                    worker.stop()
                worker = self._worker = self._make_worker(allocator)
                begun = None  # it takes seconds to start, which says nothing of the rest
            else:
                begun = self._clock()
            work.measuring = True
        found = list(worker.measure(work.settings, num_heads))
        with self._lock:
            work.measuring = False
            if work.cancelled.is_set():
                return
            points = self._points.setdefault(work.settings, {})
            points.update({(m.num_heads, m.implementation): m for m in found})
            work.left.remove(num_heads)
            if begun is not None:
                work.last = self._clock() - begun

    def _fail(self, work: Work, sentence: str) -> None:
        with self._lock:
            if not work.cancelled.is_set():
                self._held = Held(work.settings, tuple(work.all), tuple(work.left))
                self._error = sentence
                work.measuring = False
                self._work = None

    def _watch(self, work: Work) -> None:
        """The other thread: end the work when nobody has asked for long."""
        while not work.cancelled.wait(WATCH_S):
            with self._lock:
                if self._work is not work:
                    return
                if self._clock() - self._polled > PATIENCE_S:
                    self._end()
                    return


def _start_worker(allocator: str) -> "Worker":
    from attention.benchmark import Worker

    return Worker("tuned" if allocator == "tuned" else "user")


@st.cache_resource(scope="session", show_spinner=False, on_release=BenchmarkJob.close)
def benchmark_job() -> BenchmarkJob:
    """The session's job; ended as soon as its tab is closed."""
    return BenchmarkJob()
