"""What a job has to do, and what it was told not to go on with."""

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attention.benchmark import BenchmarkSettings


@dataclass(frozen=True)
class Held:
    """What was stopped, and does not begin again by itself.

    Attributes:
        settings: of the benchmark.
        heads: what is not measured though it is wanted.
        left: what was still to be measured.
    """

    settings: "BenchmarkSettings"
    heads: tuple[int, ...]
    left: tuple[int, ...]

    def holds(self, settings: "BenchmarkSettings", heads: tuple[int, ...]) -> bool:
        """Whether these head counts stay unmeasured."""
        return (self.settings, self.heads) == (settings, heads)


class Work:
    """Head counts of one benchmark that wait for their turn."""

    def __init__(self, settings: "BenchmarkSettings", heads: list[int]) -> None:
        self.settings = settings
        self.all = list(heads)
        self.left = list(heads)
        self.last: float | None = None  # seconds that the last head count took
        self.cancelled = threading.Event()
        self.waiting = False
        self.measuring = False

    def add(self, heads: list[int]) -> None:
        """Take on what is not among them yet, the smallest first."""
        new = [n for n in heads if n not in self.left]
        self.all += new
        self.left += new

    def seconds_left(self) -> float | None:
        """As long as the last one took, for each that is left; None before there is a last."""
        return None if self.last is None else self.last * len(self.left)
