"""How far the opening of a model is, told on a terminal while it takes long."""

import sys
import time
from collections.abc import Callable

from attention.memory import as_text

PATIENCE = 1.0  # seconds before anything is said
STEP = 0.2  # seconds between two lines


class Opening:
    """Writes one line on stderr, over and over; nothing where that is no terminal.

    Args:
        name: of the model.
        clock: gives seconds.
    """

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._clock = clock
        self._next = clock() + PATIENCE
        self._width = 0

    def __call__(self, done: int, total: int) -> None:
        """So many bytes of so many are there."""
        if self._clock() >= self._next and sys.stderr.isatty():
            self._next = self._clock() + STEP
            self._write(f"Opening {self._name}: {as_text(done)} of {as_text(total)}")

    def end(self) -> None:
        """Take the line away."""
        if self._width:
            self._write("")
            sys.stderr.write("\r")

    def _write(self, line: str) -> None:
        sys.stderr.write(f"\r{line:<{self._width}}")
        sys.stderr.flush()
        self._width = len(line)
