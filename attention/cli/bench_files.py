"""Files that `bench` writes and reads."""

import errno
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from attention.cli.files import OutputError, whole_file
from attention.errors import HeadscopeError

if TYPE_CHECKING:
    from attention.benchmark import BenchmarkSettings, Measurement
    from attention.benchmark.imported import Run


class FileError(HeadscopeError):
    """A file that the results cannot be written to, or read from."""


@dataclass(frozen=True)
class Files:
    """Where the results go, beside the terminal."""

    json_file: Path | None
    csv_file: Path | None
    svg_file: Path | None = None

    def check(self) -> None:
        """Refuse a place that cannot hold a file, before anything is measured.

        Raises:
            FileError: when its folder is missing or takes no file, it is a folder itself, or two
                results would go to one file.
        """
        paths = [p for p in (self.json_file, self.csv_file, self.svg_file) if p is not None]
        for path in paths:
            check_place(path)
        files = [path.resolve() for path in paths if not _is_special(path)]
        if len(set(files)) < len(files):
            raise FileError(f"file must be another one for each kind; got {str(files[0])!r} twice.")

    def write(
        self,
        settings: "BenchmarkSettings",
        found: "Sequence[Measurement]",
        other: "Run | None" = None,
    ) -> None:
        """Write what was asked for; the picture has the other run laid over it.

        Each file is written whole or not at all, and one that fails does not cost the others.

        Raises:
            FileError: when the system does not let us.
        """
        from attention.benchmark import environment
        from attention.benchmark.chart import to_svg
        from attention.benchmark.export import to_csv, to_json
        from attention.benchmark.summary import rows

        texts: dict[Path | None, Callable[[], str]] = {
            self.json_file: lambda: to_json(settings, environment(settings), found),
            self.csv_file: lambda: to_csv(settings, found),
            self.svg_file: lambda: to_svg(settings, rows(found), other),
        }
        failed: list[FileError] = []
        for path, text in texts.items():
            if path is not None:
                try:
                    write_whole(path, text())
                except FileError as error:
                    failed.append(error)
        if failed:
            raise failed[0]


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all: what was there stays where there is no room.

    Raises:
        FileError: when the system does not let us.
    """
    try:
        if _is_special(path):  # such as /dev/stdout: nothing can take its place
            path.write_text(text, encoding="utf-8")
            return
        with whole_file(path.resolve()) as file:
            file.write(text.encode("utf-8"))
    except OSError as error:
        raise FileError(f"file must be writable; got {str(path)!r}: {error.strerror}.") from error
    except OutputError as error:
        raise FileError(str(error).replace("--out", "file", 1)) from error


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file()


def check_place(path: Path) -> None:
    """Refuse a place that cannot hold a file.

    Raises:
        FileError: when its folder is missing or takes no file, or it is a folder itself.
    """
    try:
        if not path.parent.is_dir():
            raise FileError(f"file must be in a folder that exists; got {str(path)!r}.")
        if path.is_dir():
            raise FileError(f"file must be a file; got the folder {str(path)!r}.")
        if not _is_special(path):
            tempfile.TemporaryFile(dir=path.resolve().parent).close()
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:  # such as a name that is too long, or a folder that takes no file
        raise FileError(f"file must be writable; got {str(path)!r}: {error.strerror}.") from error


def read_overlay(path: Path) -> "Run":
    """Another run's result file.

    Raises:
        FileError: when it cannot be read.
        ResultError: when it is no result file.
    """
    from attention.benchmark.imported import LARGEST_MB, read_run

    try:
        with path.open("rb") as file:
            data = file.read((LARGEST_MB << 20) + 1)  # no more of a device or a huge file
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"--overlay must be readable; got {str(path)!r}: {reason}.") from error
    return read_run(data)
