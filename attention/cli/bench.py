"""`python -m attention bench`: what looping over heads costs against running them together."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attention.errors import ConfigError, HeadscopeError

if TYPE_CHECKING:
    from attention.benchmark import BenchmarkSettings, Measurement
    from attention.benchmark.summary import Row

NOTHING = "–"
CELL = 24  # characters of an implementation's column
WIDTH = 768  # GPT-2's, where neither d_out nor d_out_per_head is given


class FileError(HeadscopeError):
    """A file that the results cannot be written to."""


@click.command()
@click.option("--heads", default="1,2,4,8", show_default=True, help="Head counts.")
@click.option(
    "--implementations", default="looped,batched,sdpa", show_default=True, help="What to time."
)
@click.option("--d-out", type=int, help=f"Total width, whatever the heads; {WIDTH} by default.")
@click.option("--d-out-per-head", type=int, help="Width of each head: the layer grows with them.")
@click.option("--d-in", type=int, help=f"Width of the input; d_out, or {WIDTH} with the latter.")
@click.option("--seq-len", default=64, show_default=True, help="Tokens.")
@click.option("--batch", default=1, show_default=True, help="Sequences.")
@click.option(
    "--pass",
    "passes",
    type=click.Choice(["forward", "backward"]),
    default="forward",
    show_default=True,
    help="backward times a forward pass and its gradients together.",
)
@click.option("--device", default="cpu", show_default=True, help="cpu, cuda, cuda:1, mps.")
@click.option("--dtype", default="float32", show_default=True, help="float32, bfloat16, …")
@click.option("--threads", type=int, help="Torch's CPU threads; half the cores by default.")
@click.option(
    "--allocator",
    type=click.Choice(["user", "tuned"]),
    default="user",
    show_default=True,
    help="tuned makes glibc keep freed memory, which decides who wins at long lengths.",
)
@click.option(
    "--min-run-time", default=0.2, show_default=True, help="Seconds for each implementation."
)
@click.option("--seed", default=0, show_default=True, help="Of weights and input.")
@click.option("--json", "json_file", type=Path, metavar="FILE", help="Write everything there.")
@click.option("--csv", "csv_file", type=Path, metavar="FILE", help="Write the table there.")
def bench(
    *,
    heads: str,
    implementations: str,
    json_file: Path | None,
    csv_file: Path | None,
    **options: Any,  # noqa: ANN401 - of several types, checked by BenchmarkSettings
) -> None:
    """Time one attention layer, its heads computed in several ways, at several head counts.

    Every result is first compared with the same layer computed in float64; what differs is
    reported and not timed.
    """
    files = Files(json_file, csv_file)
    files.check()
    from attention.benchmark import BenchmarkSettings, environment, sweep

    given = {name: value for name, value in options.items() if value is not None}
    if "d_out" not in given and "d_out_per_head" not in given:
        given["d_out"] = WIDTH
    names = tuple(part.strip() for part in implementations.split(","))
    settings = BenchmarkSettings(heads=parse_heads(heads), implementations=names, **given)
    under = environment(settings)
    click.echo(f"{layer_words(settings)}\n{under}\n")
    found: list[Measurement] = []
    for line in table(settings, _kept(sweep(settings), found)):
        click.echo(line)
    for line in conclusion(settings, found):
        click.echo(line)
    files.write(settings, found)
    require_times(found)


def require_times(found: "Sequence[Measurement]") -> None:
    """Refuse a run in which nothing could be timed: a script must not take it for a result.

    Raises:
        HeadscopeError: no point has a time.
    """
    if not any(m.ok for m in found):
        raise HeadscopeError(
            "at least one point must be measured; none was: the sentences above say why."
        )


@dataclass(frozen=True)
class Files:
    """Where the results go, beside the terminal."""

    json_file: Path | None
    csv_file: Path | None

    def check(self) -> None:
        """Refuse a place that cannot hold a file, before anything is measured.

        Raises:
            FileError: when its folder is missing, or it is a folder itself.
        """
        for path in filter(None, (self.json_file, self.csv_file)):
            try:
                wrong = not path.parent.is_dir() or path.is_dir()
            except OSError as error:  # such as a name that is too long
                raise FileError(f"file must be writable; {error.strerror}.") from error
            if wrong:
                raise FileError(f"file must be in a folder that exists; got {str(path)!r}.")

    def write(self, settings: "BenchmarkSettings", found: "Sequence[Measurement]") -> None:
        """Write what was asked for.

        Raises:
            FileError: when the system does not let us.
        """
        from attention.benchmark import environment
        from attention.benchmark.export import to_csv, to_json

        try:
            if self.json_file is not None:
                text = to_json(settings, environment(settings), found)
                self.json_file.write_text(text, encoding="utf-8")
            if self.csv_file is not None:
                self.csv_file.write_text(to_csv(settings, found), encoding="utf-8")
        except OSError as error:
            raise FileError(
                f"file must be writable; got {error.filename!r}: {error.strerror}."
            ) from error


def parse_heads(text: str) -> tuple[int, ...]:
    """Head counts between commas.

    Raises:
        ConfigError: when something else is among them.
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(re.fullmatch("[0-9]{1,18}", part) for part in parts):
        raise ConfigError(f"heads must be whole numbers such as 1,2,4,8; got {text!r}.")
    return tuple(dict.fromkeys(map(int, parts)))


def layer_words(settings: "BenchmarkSettings") -> str:
    """What is measured, in one line."""
    if settings.reading == "total":
        width = f"total width d_out {settings.width}: head_dim shrinks as heads are added"
    else:
        width = f"d_out_per_head {settings.width}: the layer grows as heads are added"
    passes = "forward" if settings.passes == "forward" else "forward and backward"
    return f"{passes}, batch {settings.batch}, {settings.seq_len} tokens; {width}"


def table(settings: "BenchmarkSettings", found: "Iterator[Measurement]") -> Iterator[str]:
    """A line of titles, then a line for each head count as soon as it is measured."""
    from attention.benchmark.summary import rows

    titles = [f"{name} ms (p10–p90)" for name in settings.implementations]
    yield _columns("heads", "head_dim", titles, "loop/batch", "max |Δ|")
    for _, group in groupby(found, key=lambda m: m.num_heads):
        for row in rows(group):
            yield _line(settings, row)


def conclusion(settings: "BenchmarkSettings", found: "Sequence[Measurement]") -> Iterator[str]:
    """The straight lines, and the sentences computed from the measurements."""
    from attention.benchmark.summary import lines, number, rows, sentences

    measured = rows(found)
    yield ""
    for name, line in lines(settings, measured).items():
        fitness = NOTHING if line.r_squared is None else f"{line.r_squared:.3f}"
        sign, base = "−" if line.intercept < 0 else "+", number(abs(line.intercept))
        yield f"{name}: {number(line.slope)} ms a head {sign} {base} ms, R² {fitness}"
    yield ""
    yield from sentences(settings, measured)


def _kept(measured: "Iterator[Measurement]", found: "list[Measurement]") -> "Iterator[Measurement]":
    for measurement in measured:
        found.append(measurement)
        yield measurement


def _line(settings: "BenchmarkSettings", row: "Row") -> str:
    from attention.benchmark.summary import number

    cells, head_dim = [], settings.config(row.num_heads).head_dim
    for name in settings.implementations:
        m = row.by_name[name]
        spread = f"{number(m.median)} ({number(m.p10)}–{number(m.p90)})" if m.ok else NOTHING
        cells.append(spread + (" *" if m.disturbed else ""))
    ratio = NOTHING if row.ratio is None else f"{number(row.ratio)}×"
    differences = [
        m.output_difference for m in row.by_name.values() if m.output_difference is not None
    ]
    difference = f"{max(differences):.1e}" if differences else NOTHING
    return _columns(str(row.num_heads), str(head_dim), cells, ratio, difference)


def _columns(heads: str, head_dim: str, cells: Sequence[str], ratio: str, difference: str) -> str:
    middle = "  ".join(cell.rjust(CELL) for cell in cells)
    return f"{heads:>5}  {head_dim:>8}  {middle}  {ratio:>10}  {difference:>8}"
