"""What else the machine was doing while something was measured."""

import os
import time
from pathlib import Path
from types import TracebackType

STAT = Path("/proc/stat")
BUSY_COLUMNS = (0, 1, 2, 5, 6, 7)  # user nice system irq softirq steal; not idle, not iowait
TOLERATED_CORES = 0.25


def usable_cores() -> int:
    """The cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def disturbance(others: float | None, threads: int, cores: int) -> str | None:
    """Why a measurement is not to be trusted; None when it was quiet, or nobody can know.

    Other programs disturb once they need more than the cores that the measurement leaves free.

    Args:
        others: cores kept busy by other programs; None where the system does not tell.
        threads: that were measured.
        cores: of the machine.
    """
    if others is None or others <= max(0, cores - threads) + TOLERATED_CORES:
        return None
    return f"other programs kept {others:.1f} of {cores} cores busy"


class LoadMeter:
    """Measures, while a block runs, how many cores other processes kept busy.

    Leaves out what shares a cache or a memory bus without needing a core. Knows nothing
    outside Linux.
    """

    def __init__(self, stat: Path = STAT) -> None:
        self.stat = stat
        self.others: float | None = None

    def __enter__(self) -> "LoadMeter":
        """Note the counters at the start."""
        self._busy, self._own, self._wall = self._read()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Work out `others` from the counters' growth."""
        busy, own, wall = self._read()
        if busy is not None and self._busy is not None and wall > self._wall:
            extra = (busy - self._busy) - (own - self._own)
            self.others = max(0.0, extra / (wall - self._wall))

    def _read(self) -> tuple[float | None, float, float]:
        """Seconds: of all work on our cores, of this process's work, and on the wall."""
        return busy_seconds(self.stat), time.process_time(), time.perf_counter()


def busy_seconds(stat: Path = STAT) -> float | None:
    """Seconds of work so far on the cores that this process may use; None where unknown."""
    try:
        lines = stat.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    mine = {f"cpu{core}" for core in os.sched_getaffinity(0)}
    rows = [line.split() for line in lines if line.split(" ", 1)[0] in mine]
    ticks = sum(int(row[1 + column]) for row in rows for column in BUSY_COLUMNS)
    return ticks / os.sysconf("SC_CLK_TCK")
