"""Memory on a machine that others use too: how much is free, and a process that takes no more."""

import resource
from pathlib import Path

SHARE = 0.85  # of the memory that is free, which one process may take
FIRST_TO_END = Path("/proc/self/oom_score_adj")


def free_memory() -> int:
    """Bytes that are free on the machine."""
    told = Path("/proc/meminfo").read_text(encoding="ascii")
    return 1024 * int(told.partition("MemAvailable:")[2].split()[0])


def allowance() -> int:
    """Bytes that one process may take now."""
    return int(SHARE * free_memory())


def be_modest(limit: int) -> None:
    """Have this process refused more memory than that, and ended before any other."""
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    FIRST_TO_END.write_text("1000", encoding="ascii")
