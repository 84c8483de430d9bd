"""Tries a freshly compiled core in a process of its own: should it crash, nobody else does.

`python -m attention.capture.trial LIBRARY blas|plain` exits with 0 when the core computes what it
should; else it says why not on stderr, and exits with 2 where no matrix product would help.
"""

import sys
from pathlib import Path

from attention.capture.native import NativeCore, difference

UNLOADABLE = 2  # the exit code


def main(library: str, kind: str) -> None:
    """Load and check a core."""
    try:
        NativeCore(Path(library), blas=False)
    except OSError as error:
        sys.stderr.write(str(error))
        sys.exit(UNLOADABLE)
    try:
        found = difference(NativeCore(Path(library), blas=kind == "blas"))
    except OSError as error:
        found = str(error)
    if found is not None:
        sys.exit(found)


if __name__ == "__main__":
    main(*sys.argv[1:])
