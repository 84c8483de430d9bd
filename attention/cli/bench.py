"""`python -m attention bench`: what looping over heads costs against running them together."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attention.cli.bench_files import Files, read_overlay
from attention.cli.bench_table import conclusion, formulas, layer_words, side_by_side, table
from attention.cli.names import Implementations, parse_names
from attention.errors import ConfigError, HeadscopeError

if TYPE_CHECKING:
    from attention.benchmark import BenchmarkSettings, Measurement
    from attention.benchmark.imported import Run

WIDTH = 768  # GPT-2's, where neither d_out nor d_out_per_head is given


@click.command()
@click.option("--heads", default="1,2,4,8", show_default=True, help="Head counts.")
@click.option(
    "--implementations",
    metavar="NAMES",
    default="looped,batched,sdpa",
    show_default=True,
    cls=Implementations,
    help="What to time, between commas.",
)
@click.option("--d-out", type=int, help=f"Total width, whatever the heads; {WIDTH} by default.")
@click.option("--d-out-per-head", type=int, help="Width of each head: the layer grows with them.")
@click.option("--d-in", type=int, help=f"Width of the input; d_out, or {WIDTH} with the latter.")
@click.option("--kv-heads", "num_kv_heads", type=int, help="Shared by the heads; all by default.")
@click.option("--seq-len", default=64, show_default=True, help="Tokens.")
@click.option(
    "--context-length",
    type=int,
    help="Tokens that the layer is made for; seq-len by default. looped_book's mask has that side.",
)
@click.option("--batch", default=1, show_default=True, help="Sequences.")
@click.option(
    "--pass",
    "passes",
    type=click.Choice(["forward", "backward", "decode"]),
    default="forward",
    show_default=True,
    help="backward: a forward pass and its gradients together; decode: one new token after seq-len "
    "tokens in a KV cache.",
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
@click.option("--compiled", is_flag=True, help="Compile each with torch.compile first.")
@click.option(
    "--l2",
    type=click.Choice(["cold", "warm"]),
    default="cold",
    show_default=True,
    help="cold empties a GPU's L2 cache before each call.",
)
@click.option("--seed", default=0, show_default=True, help="Of weights and input.")
@click.option(
    "--patience", default=600.0, show_default=True, help="Seconds before a hung process is ended."
)
@click.option("--json", "json_file", type=Path, metavar="FILE", help="Write everything there.")
@click.option("--csv", "csv_file", type=Path, metavar="FILE", help="Write the table there.")
@click.option(
    "--svg",
    "svg_file",
    type=Path,
    metavar="FILE",
    help="Draw the chart there. For a PNG: rsvg-convert or Inkscape makes one of it, and the page "
    "(Loop vs batch) has a button.",
)
@click.option(
    "--overlay", type=Path, metavar="FILE", help="Lay the run in a --json FILE over this one."
)
@click.option("--formulas", "with_formulas", is_flag=True, help="Show how FLOPs are worked out.")
def bench(
    *,
    heads: str,
    implementations: str,
    json_file: Path | None,
    csv_file: Path | None,
    svg_file: Path | None,
    overlay: Path | None,
    with_formulas: bool,
    **options: Any,  # noqa: ANN401 - of several types, checked by BenchmarkSettings
) -> None:
    """Time one attention layer, its heads computed in several ways, at several head counts.

    Every result, gradients too, is first compared with the same layer computed in float64; what
    differs is reported and not timed.
    """
    files = Files(json_file, csv_file, svg_file)
    files.check()
    from attention.benchmark import BenchmarkSettings, environment

    given = {name: value for name, value in options.items() if value is not None}
    if "d_out" not in given and "d_out_per_head" not in given:
        given["d_out"] = WIDTH
    names = parse_names(implementations)
    settings = BenchmarkSettings(heads=parse_heads(heads), implementations=names, **given)
    other = None if overlay is None else read_overlay(overlay)
    under = environment(settings)
    click.echo(f"{layer_words(settings)}\n{under}\n")
    found: list[Measurement] = []
    try:
        _measure(settings, found)
    finally:  # what is measured is kept when somebody presses Ctrl-C
        for line in _said(settings, found, other, with_formulas=with_formulas):
            click.echo(line)
        if found:
            files.write(settings, found, other)
    require_times(found)


def _measure(settings: "BenchmarkSettings", found: "list[Measurement]") -> None:
    from attention.benchmark import sweep

    for line in table(settings, _kept(sweep(settings), found)):
        click.echo(line)


def _said(
    settings: "BenchmarkSettings",
    found: "Sequence[Measurement]",
    other: "Run | None",
    *,
    with_formulas: bool,
) -> "Iterator[str]":
    if found:
        yield from conclusion(settings, found)
        if other is not None:
            yield from side_by_side(settings, found, other)
    if with_formulas:
        yield from formulas(settings)


def require_times(found: "Sequence[Measurement]") -> None:
    """Refuse a run in which nothing could be timed: a script must not take it for a result.

    Raises:
        HeadscopeError: no point has a time.
    """
    if not any(m.ok for m in found):
        raise HeadscopeError(
            "at least one point must be measured; none was: the sentences above say why."
        )


def parse_heads(text: str) -> tuple[int, ...]:
    """Head counts between commas.

    Raises:
        ConfigError: when something else is among them.
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(re.fullmatch("[0-9]{1,18}", part) for part in parts):
        raise ConfigError(f"heads must be whole numbers such as 1,2,4,8; got {text!r}.")
    return tuple(dict.fromkeys(map(int, parts)))


def _kept(measured: "Iterator[Measurement]", found: "list[Measurement]") -> "Iterator[Measurement]":
    for measurement in measured:
        found.append(measurement)
        yield measurement
