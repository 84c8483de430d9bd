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
        self.pid = self._process.pid

    @property
    def ended(self) -> bool:
        """Whether it can no longer be asked."""
        return self._process.poll() is not None

    def ask(self, request: dict[str, object], patience: float) -> Iterator[dict[str, Any]]:
        """Send a request, and yield the lines of the answer without the one that ends it.

        Args:
            request: see `worker`.
            patience: seconds without a line after which the process is ended.

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
                with self._watched(patience):
                    text = stdout.readline()
            except ValueError:  # closed by `end` in another thread
                text = ""
            if not text.endswith("\n"):  # the end, or a line that was cut off by it
                raise self._reason()
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

        watch = threading.Timer(patience, give_up)
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
        if code == -signal.SIGKILL:
            return WorkerError(
                "memory must be enough for the patterns; the system ended the measuring process. "
                "Use fewer heads, a shorter text or a smaller batch.",
                tail,
            )
        return WorkerError(
            f"the measuring process must answer; it ended with code {code}{wrote}.", tail
        )
