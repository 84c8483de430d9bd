"""One measurement at a time on a machine, whoever asks: two would spoil each other's times."""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

if sys.platform != "win32":
    import fcntl

WAIT_S = 0.1


def turn_file() -> Path:
    """What all measuring processes of this user lock."""
    user = os.getuid() if sys.platform != "win32" else 0
    return Path(tempfile.gettempdir()) / f"headscope-bench-{user}.lock"


@contextmanager
def turn(path: Path, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Run a block while no other process runs one with the same file.

    A process gives its turn back when it ends, however it ends. Where files cannot be locked
    (Windows, some network drives) nobody waits; there the load of other programs still shows.

    Args:
        path: what is locked; made when it is missing.
        waiting: called again and again while another has the turn.
    """
    file = _opened(path)
    try:
        while file is not None and not _locked(file):
            waiting()
            time.sleep(WAIT_S)
        yield
    finally:
        if file is not None:
            file.close()


def _opened(path: Path) -> IO[str] | None:
    try:
        return path.open("a", encoding="ascii")
    except OSError:
        return None


def _locked(file: IO[str]) -> bool:
    """Whether this process has the lock now, or can have none."""
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
