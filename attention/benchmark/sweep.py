"""Asks a process apart to measure, so that nothing here waits and a sweep ends when it is told."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from attention.benchmark.measurement import Measurement
from attention.benchmark.settings import Allocator, BenchmarkSettings
from attention.devices import find_device
from attention.errors import ConfigError, DeviceError

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "attention.benchmark.worker")
# glibc reads these when a process starts. They keep freed memory in the process, where otherwise
# each large tensor is given back to the system and faulted in again, page by page.
ALLOCATOR_VARIABLES: dict[Allocator, dict[str, str]] = {
    "user": {},
    "tuned": {
        "MALLOC_TOP_PAD_": "67108864",
        "MALLOC_MMAP_THRESHOLD_": "1073741824",
        "MALLOC_TRIM_THRESHOLD_": "1073741824",
    },
}
TAIL_CHARACTERS = 2000


class WorkerError(RuntimeError):
    """The measuring process ended by itself; a fault of ours, with what it wrote last."""


class Worker:
    """A measuring process: started once, asked many times, ended at once.

    It may be stopped from any thread. Once stopped it stays so.

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
        self._stopped = threading.Event()
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        self._log: IO[str] = tempfile.TemporaryFile(  # noqa: SIM115 - lives as long as the process
            "w+", encoding="utf-8", errors="replace"
        )
        self._process = subprocess.Popen(
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, **ALLOCATOR_VARIABLES[allocator], "PYTHONPATH": path},
            encoding="utf-8",
        )

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return not self._stopped.is_set() and self._process.poll() is None

    def measure(self, settings: BenchmarkSettings, num_heads: int) -> Iterator[Measurement]:
        """Measure one head count; ends early when the worker is stopped.

        An iterator that is closed before its end stops the worker.

        Yields:
            one measurement for each implementation.

        Raises:
            ConfigError: when the head count does not fit the width.
            DeviceError: when the device cannot be used, or all memory is gone.
            WorkerError: when the process ended by itself.
        """
        config = settings.config(num_heads)  # refused here, in the caller's own words
        find_device(settings.device, settings.dtype)
        whole = False
        try:
            self._ask({"settings": settings.to_json(), "num_heads": config.num_heads})
            for line in self._answers():
                if "measurement" in line:
                    yield Measurement.from_json(line["measurement"])
                elif "error" in line:
                    whole = True
                    raise DeviceError(str(line["error"]))
            whole = True
        finally:
            if not whole:
                self.stop()

    def stop(self) -> None:
        """End the process now, whatever it is doing."""
        self._stopped.set()
        self._process.kill()
        self._process.wait()
        for file in (self._process.stdin, self._process.stdout, self._log):
            assert file is not None  # all three are pipes or files
            with suppress(BrokenPipeError):  # a request that was never read
                file.close()

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

    def _ask(self, request: dict[str, object]) -> None:
        assert self._process.stdin is not None  # a pipe
        with suppress(BrokenPipeError, ValueError):  # ended or stopped: `_answers` says why
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()

    def _answers(self) -> Iterator[dict[str, Any]]:
        """The lines up to the one that ends the answer."""
        assert self._process.stdout is not None  # a pipe
        while not self._stopped.is_set():
            try:
                text = self._process.stdout.readline()
            except ValueError:  # closed by `stop` in another thread
                return
            if not text.endswith("\n"):  # the end, or a line that was cut off by it
                if self._stopped.is_set():
                    return
                raise self._reason()
            line = json.loads(text)
            if line.get("done"):
                return
            yield line

    def _reason(self) -> Exception:
        code = self._process.wait()
        if code == -signal.SIGKILL:
            return DeviceError(
                "memory must be enough for the patterns; the system ended the measuring process. "
                "Use fewer heads, a shorter text or a smaller batch."
            )
        self._log.seek(0)
        tail = self._log.read()[-TAIL_CHARACTERS:].strip()
        return WorkerError(f"the measuring process ended with code {code}:\n{tail}")


def sweep(settings: BenchmarkSettings) -> Iterator[Measurement]:
    """Measure every head count of the settings, one after the other, in a process apart.

    Closing the iterator ends the measuring at once.

    Yields:
        for each head count one measurement for each implementation, as they are made.

    Raises:
        DeviceError: when the device does not exist here or lacks the dtype.
        WorkerError: when the measuring process ended by itself.
    """
    find_device(settings.device, settings.dtype)
    with Worker(settings.allocator) as worker:
        for num_heads in settings.heads:
            yield from worker.measure(settings, num_heads)
