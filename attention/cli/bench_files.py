"""Files that `bench` writes and reads."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

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
            FileError: when its folder is missing, or it is a folder itself.
        """
        for path in filter(None, (self.json_file, self.csv_file, self.svg_file)):
            try:
                wrong = not path.parent.is_dir() or path.is_dir()
            except OSError as error:  # such as a name that is too long
                raise FileError(f"file must be writable; {error.strerror}.") from error
            if wrong:
                raise FileError(f"file must be in a folder that exists; got {str(path)!r}.")

    def write(
        self,
        settings: "BenchmarkSettings",
        found: "Sequence[Measurement]",
        other: "Run | None" = None,
    ) -> None:
        """Write what was asked for; the picture has the other run laid over it.

        Raises:
            FileError: when the system does not let us.
        """
        from attention.benchmark import environment
        from attention.benchmark.chart import to_svg
        from attention.benchmark.export import to_csv, to_json
        from attention.benchmark.summary import rows

        try:
            if self.json_file is not None:
                text = to_json(settings, environment(settings), found)
                self.json_file.write_text(text, encoding="utf-8")
            if self.csv_file is not None:
                self.csv_file.write_text(to_csv(settings, found), encoding="utf-8")
            if self.svg_file is not None:
                svg = to_svg(settings, rows(found), other)
                self.svg_file.write_text(svg, encoding="utf-8")
        except OSError as error:
            raise FileError(
                f"file must be writable; got {error.filename!r}: {error.strerror}."
            ) from error


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
