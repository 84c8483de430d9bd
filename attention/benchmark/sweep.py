"""Asks a process apart to measure, so that nothing here waits and a sweep ends when it is told."""

import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import Any

from attention.benchmark.measurement import Measurement
from attention.benchmark.numbers import heads_written
from attention.benchmark.process import MeasuringProcess, WorkerError
from attention.benchmark.settings import Allocator, BenchmarkSettings
from attention.benchmark.trace import Trace
from attention.devices import find_device
from attention.errors import ConfigError, DeviceError

log = logging.getLogger("headscope")


class Worker:
    """A measuring process: started once, asked many times, ended at once.

    A process that dies or hangs takes one implementation at one head count with it: another one
    goes on with the rest. It may be stopped from any thread. Once stopped it stays so.

    Args:
        allocator: how the process handles freed memory, which only its start decides.

    Raises:
        ConfigError: when the allocator cannot be tuned on this system.
    """

    def __init__(self, allocator: Allocator = "user") -> None:
        if allocator == "tuned" and sys.platform != "linux":
            raise ConfigError(
                "allocator must be 'user' on this system; got 'tuned', which sets up glibc's."
            )
        self.allocator = allocator
        self.waiting = False  # whether another benchmark on this machine has its turn
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._process = MeasuringProcess(allocator)

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return not self._stopped.is_set()

    def measure(self, settings: BenchmarkSettings, num_heads: int) -> Iterator[Measurement]:
        """Measure one head count; ends early when the worker is stopped.

        An iterator that is closed before its end stops the worker.

        Yields:
            one measurement for each implementation; those that ended the process, or with which
            it hung, have an error and no time.

        Raises:
            ConfigError: when the head count does not fit the width.
            DeviceError: when the device cannot be used.
        """
        settings.config(num_heads)  # refused here, in the caller's own words
        find_device(settings.device, settings.dtype)
        left = list(dict.fromkeys(settings.implementations))
        with ExitStack() as unless_whole:
            unless_whole.callback(self.stop)
            while left and self.alive:
                if self._process.ended:  # since it was last asked
                    self._begin_again()
                asked = replace(settings, implementations=tuple(left), heads=(num_heads,))
                turns = _Turns()
                try:
                    for m in self._answers(asked, num_heads, turns):
                        left.remove(m.implementation)
                        yield m
                    break
                except WorkerError as error:
                    if not self.alive:
                        break
                    log.warning("Measuring %s: %s", heads_written(num_heads), error)
                    lost = [turns.now] if turns.now in left else left
                    yield from (_lost(settings, num_heads, name, error.sentence) for name in lost)
                    left = [name for name in left if name not in lost]
                    self._begin_again()
            unless_whole.pop_all()

    def trace(self, settings: BenchmarkSettings, num_heads: int, implementation: str) -> Trace:
        """Profile one forward pass; nothing is timed meanwhile.

        Raises:
            ConfigError: when the head count does not fit the width.
            DeviceError: when the device cannot be used, or the process ended.
        """
        one = replace(
            settings, implementations=(implementation,), heads=(num_heads,), passes="forward"
        )
        find_device(one.device, one.dtype)
        request = {"settings": one.to_json(), "num_heads": num_heads, "trace": implementation}
        try:
            lines = list(self._process.ask(request, one.patience_for(1)))
        except WorkerError as error:
            log.warning("Tracing %s: %s", implementation, error)
            raise DeviceError(error.sentence) from error
        found = {key: value for line in lines for key, value in line.items()}
        if "error" in found:
            raise DeviceError(str(found["error"]))
        return Trace.from_json(found["trace"])

    def stop(self) -> None:
        """End the process now, whatever it is doing."""
        with self._lock:
            self._stopped.set()
            self._process.end()

    def __enter__(self) -> "Worker":
        """The worker itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop it."""
        self.stop()

    def _begin_again(self) -> None:
        with self._lock:
            if self.alive:
                self._process.end()
                self._process = MeasuringProcess(self.allocator)

    def _wait(self, *, waiting: bool) -> None:
        if waiting and not self.waiting:
            log.warning("Another benchmark on this machine has its turn: waiting.")
        self.waiting = waiting

    def _answers(
        self, settings: BenchmarkSettings, num_heads: int, turns: "_Turns"
    ) -> Iterator[Measurement]:
        """The measurements of one answer; `turns` is kept up to date meanwhile."""
        request: dict[str, Any] = {"settings": settings.to_json(), "num_heads": num_heads}
        patience = settings.patience_for(len(settings.implementations) + 2)
        for line in self._process.ask(request, patience):
            self._wait(waiting=bool(line.get("waiting")))
            if "begin" in line:
                turns.now = line["begin"]
            elif "measurement" in line:
                yield Measurement.from_json(line["measurement"])
            elif "error" in line:
                raise DeviceError(str(line["error"]))


class _Turns:
    """Which implementation has its turn alone; None while all are timed in turns."""

    now: str | None = None


def _lost(settings: BenchmarkSettings, num_heads: int, name: str, reason: str) -> Measurement:
    config = settings.config(num_heads)
    return Measurement(
        implementation=name,
        num_heads=num_heads,
        head_dim=config.head_dim,
        d_out=config.d_out,
        error=f"At {heads_written(num_heads)} {reason}",
    )


def sweep(settings: BenchmarkSettings) -> Iterator[Measurement]:
    """Measure every head count of the settings, one after the other, in a process apart.

    Closing the iterator ends the measuring at once.

    Yields:
        for each head count one measurement for each implementation, as they are made; what ended
        the measuring process has an error and no time.

    Raises:
        DeviceError: when the device does not exist here or lacks the dtype.
    """
    find_device(settings.device, settings.dtype)
    with Worker(settings.allocator) as worker:
        for num_heads in settings.heads:
            yield from worker.measure(settings, num_heads)
