"""What the system says of the processes that it ended itself."""

import re
from pathlib import Path

VMSTAT = Path("/proc/vmstat")


def killed_for_memory(vmstat: Path = VMSTAT) -> int | None:
    """How many processes the system has ended for want of memory since it started.

    Returns:
        a number that only grows; None where the system does not tell.
    """
    try:
        found = re.search(r"^oom_kill (\d+)$", vmstat.read_text("ascii"), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) if found else None
