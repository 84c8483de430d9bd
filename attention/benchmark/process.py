"""One measuring process: asked in JSON lines, ended at once, or when it shows no sign of life."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from attention.benchmark.outside import killed_for_memory
from attention.benchmark.settings import Allocator

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
QUIET = {"KINETO_LOG_LEVEL": "99"}  # or the profiler's chatter is what a process wrote last
START_S = 120.0  # that a process may take to its first line: a busy machine imports torch slowly
TAIL_CHARACTERS = 2000
LINE_CHARACTERS = 200


class WorkerError(RuntimeError):
    """A measuring process that ended by itself, or had to be ended.

    Attributes:
        sentence: why, for a person.
        tail: what it wrote last.
    """

    def __init__(self, sentence: str, tail: str) -> None:
        super().__init__(f"{sentence}\n{tail}" if tail else sentence)
        self.sentence = sentence
        self.tail = tail


class MeasuringProcess:
    """The process, from its start to its end. It may be ended from any thread.

    Args:
        allocator: how it handles freed memory, which only its start decides.
    """

    def __init__(self, allocator: Allocator) -> None:
        self._hung_after: float | None = None
        self._answered = False
        self._killed_before = killed_for_memory()
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        self._log: IO[str] = tempfile.TemporaryFile(  # noqa: SIM115 - lives as long as the process
            "w+", encoding="utf-8", errors="replace"
        )
        self._process = subprocess.Popen(
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**QUIET, **os.environ, **ALLOCATOR_VARIABLES[allocator], "PYTHONPATH": path},
            encoding="utf-8",
        )
        self.pid = self._process.pid

    @property
    def ended(self) -> bool:
        """Whether it can no longer be asked."""
        return self._process.poll() is not None

    def ask(self, request: dict[str, object], patience: float) -> Iterator[dict[str, Any]]:
        """Send a request, and yield the lines of the answer without the one that ends it.

        Args:
            request: see `worker`.
            patience: seconds without a line after which the process is ended; its first line may
                take longer.

        Raises:
            WorkerError: when the process ends before its answer does.
        """
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None  # both are pipes
        assert stdout is not None
        with suppress(BrokenPipeError, ValueError):  # it has ended: the answer says why
            stdin.write(json.dumps(request) + "\n")
            stdin.flush()
        while True:
            try:
                with self._watched(patience if self._answered else max(patience, START_S)):
                    text = stdout.readline()
            except ValueError:  # closed by `end` in another thread
                text = ""
            if not text.endswith("\n"):  # the end, or a line that was cut off by it
                raise self._reason()
            self._answered = True
            line = json.loads(text)
            if line.get("done"):
                return
            yield line

    def end(self) -> None:
        """End it now, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        for file in (self._process.stdin, self._process.stdout, self._log):
            assert file is not None  # all three are pipes or files
            with suppress(BrokenPipeError):  # a request that was never read
                file.close()

    @contextmanager
    def _watched(self, patience: float) -> Iterator[None]:
        """End the process when the block takes longer."""

        def give_up() -> None:
            self._hung_after = patience
            self._process.kill()

        watch = threading.Timer(min(patience, threading.TIMEOUT_MAX), give_up)
        watch.daemon = True
        watch.start()
        try:
            yield
        finally:
            watch.cancel()

    def _reason(self) -> WorkerError:
        code = self._process.wait()
        tail = ""
        with suppress(ValueError):  # closed by `end`
            self._log.seek(0)
            tail = self._log.read()[-TAIL_CHARACTERS:].strip()
        last = tail.splitlines()[-1][-LINE_CHARACTERS:] if tail else ""
        wrote = f"; it wrote last: {last!r}" if last else ""
        if self._hung_after is not None:
            within = f"within {self._hung_after:g} s"
            return WorkerError(f"the measuring process must answer {within}; it hung{wrote}.", tail)
        if code == -signal.SIGKILL and self._for_memory() is not False:
            perhaps = "" if self._for_memory() else ", as it does where memory runs out"
            return WorkerError(
                "memory must be enough for the patterns; the system ended the measuring process"
                f"{perhaps}. Use fewer heads, a shorter text or a smaller batch.",
                tail,
            )
        how = f"with code {code}" if code >= 0 else f"by the signal {_signal_name(-code)}"
        return WorkerError(f"the measuring process must answer; it ended {how}{wrote}.", tail)

    def _for_memory(self) -> bool | None:
        """Whether the system has ended a process for want of memory since this one began.

        None where it does not tell.
        """
        now = killed_for_memory()
        return None if now is None or self._killed_before is None else now > self._killed_before


def _signal_name(number: int) -> str:
    """SIGKILL for 9; the number itself where the system has no name for it."""
    with suppress(ValueError):
        return signal.Signals(number).name
    return str(number)
