"""A model being opened in a thread of its own: how far it is, and stopping it."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attention.errors import HeadscopeError

if TYPE_CHECKING:
    from attention.model import LanguageModel

log = logging.getLogger("headscope")

Progress = Callable[[int, int], None]  # bytes done, bytes in all


class StoppedError(Exception):
    """Nobody wants the model any more."""


@dataclass(frozen=True)
class Asked:
    """A model as it is asked for; equal ones are one copy in memory.

    Attributes:
        source: what `load_model` takes; a model of the hub with its revision.
        device: where it runs.
        dtype: what it computes in, a key of DTYPES.
        num_heads: heads in each layer, where the checkpoint does not say; None where it does.
        stamp: of its files, so that a new file is opened anew.
    """

    source: str
    device: str = "cpu"
    dtype: str = "float32"
    num_heads: int | None = None
    stamp: int = 0


class Opening:
    """Opens a model in a thread.

    Args:
        asked: which.
        load: opens it, given a callback for its progress.
    """

    def __init__(self, asked: Asked, load: "Callable[[Asked, Progress], LanguageModel]") -> None:
        self.asked = asked
        self.done = 0
        self.total = 0
        self.error: str | None = None
        self.model: LanguageModel | None = None
        self.waiting: set[object] = set()  # who wants it
        self._load = load
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._open, daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether it is neither open nor refused yet."""
        return self._thread.is_alive()

    @property
    def stopped(self) -> bool:
        """Whether nobody wants it any more."""
        return self._stopped.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait until it is over, or for so long. Returns whether it is over."""
        self._thread.join(seconds)
        return not self.running

    def stop(self) -> None:
        """Nobody wants it any more: ends at its next sign of progress, and is dropped."""
        self._stopped.set()

    def _progress(self, done: int, total: int) -> None:
        if self.stopped:
            raise StoppedError
        self.done, self.total = done, total

    def _open(self) -> None:
        try:
            self.model = self._load(self.asked, self._progress)
        except HeadscopeError as error:
            self.error = str(error)
        except Exception as error:
            if self.stopped:
                return
            log.exception("A model could not be opened")
            self.error = (
                f"This is our fault: {self.asked.source} could not be opened "
                f"({type(error).__name__}). Please report it with the last lines in the terminal "
                "that Headscope was started from."
            )
