"""How long work tells how far it is, and how it is called off."""

from collections.abc import Callable
from threading import Event

from attention.errors import HeadscopeError

# Called after each block with the share that is done, up to 1. What it raises ends the work.
Progress = Callable[[float], None]


class CancelledError(HeadscopeError):
    """Work that nobody waits for any more."""


def until(cancelled: Event, progress: Progress | None = None) -> Progress:
    """A callback for work that ends once an event is set.

    Args:
        cancelled: set by whoever does not want the result any more, in any thread.
        progress: called as long as it is not set.

    Returns:
        what raises CancelledError at the next block after the event was set.
    """

    def report(done: float) -> None:
        if cancelled.is_set():
            raise CancelledError("the work was called off before its end.")
        if progress is not None:
            progress(done)

    return report


def from_to(progress: Progress | None, first: float, last: float) -> Progress | None:
    """A callback for a part of the work, from one share of all to another."""
    if progress is None:
        return None
    return lambda done: progress(first + (last - first) * done if done < 1 else last)
