"""Bytes fetched, told to a callback instead of a bar in the terminal."""

from collections.abc import Callable
from typing import Any

Progress = Callable[[int, int], None]  # bytes done, bytes in all


class Fetched:
    """Adds the files up.

    Args:
        progress: told of bytes done and bytes in all; None for nobody.
        total: bytes of all files.
    """

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._total = total
        self._before = 0  # bytes of the files that are done
        outer = self

        class Bar:
            """What the library takes for a tqdm bar: one a file."""

            def __init__(self, *_: Any, initial: int = 0, **__: Any) -> None:  # noqa: ANN401
                self.n = initial
                self.total = 0

            def __enter__(self) -> "Bar":
                return self

            def __exit__(self, *_: object) -> None:
                """Nothing is open."""

            def update(self, count: float | None = 1) -> None:
                self.n += int(count or 0)
                outer.tell(self.n)

            def nothing(self, *_: Any, **__: Any) -> None:  # noqa: ANN401
                """What it would draw."""

            # `update_transfer` tells the library that one bar will do for both of its counts.
            close = refresh = reset = set_description = set_postfix_str = nothing
            update_transfer = set_transfer_postfix_str = nothing

        self.of_library: Any = Bar

    def tell(self, within: int) -> None:
        """So many bytes of the present file are there."""
        if self._progress is not None:
            self._progress(min(self._before + within, self._total), self._total)

    def done(self, size: int) -> None:
        """A file of that size is there, fetched or cached."""
        self._before += size
        self.tell(0)


def bars(progress: Progress | None, total: int) -> Fetched:
    """Bars for the library that tell `progress`."""
    return Fetched(progress, total)
