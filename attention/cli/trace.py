"""`python -m attention trace`: do two heads ever run at once, and where does the time go?"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from attention.cli.bench_files import check_place, write_whole
from attention.cli.names import Implementations, parse_names
from attention.errors import ConfigError, HeadscopeError

if TYPE_CHECKING:
    from attention.benchmark.layer import Layer


@click.command()
@click.option("--heads", default=12, show_default=True, help="How many heads.")
@click.option(
    "--implementations",
    metavar="NAMES",
    default="looped,batched",
    show_default=True,
    cls=Implementations,
    help="What to trace, between commas.",
)
@click.option("--d-out", default=768, show_default=True, help="Total width of the layer.")
@click.option("--seq-len", default=64, show_default=True, help="Tokens.")
@click.option("--batch", default=1, show_default=True, help="Sequences.")
@click.option("--device", default="cpu", show_default=True, help="cpu, cuda, cuda:1.")
@click.option("--dtype", default="float32", show_default=True, help="float32, bfloat16, …")
@click.option("--threads", type=int, help="Torch's CPU threads; half the cores by default.")
@click.option(
    "--perfetto",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Write IMPLEMENTATION.json there, for ui.perfetto.dev or chrome://tracing.",
)
def trace(
    *,
    heads: int,
    implementations: str,
    threads: int | None,
    perfetto: Path | None,
    **sizes: int | str,
) -> None:
    """Profile one forward pass of one layer with each implementation, and say what it shows.

    The profiler slows every operator down: read the order, the overlap and the shares, and use
    bench for times.
    """
    names = parse_names(implementations)
    if perfetto is not None and not perfetto.is_dir():
        raise ConfigError(f"perfetto must be a folder that exists; got {str(perfetto)!r}.")
    from attention.benchmark.process import QUIET

    os.environ.update({**QUIET, **os.environ})  # before the profiler reads it
    import torch

    from attention.benchmark import BenchmarkSettings, environment
    from attention.benchmark.layer import prepare
    from attention.benchmark.numbers import heads_written
    from attention.devices import find_device

    given = {**sizes, **({} if threads is None else {"threads": threads})}
    settings = BenchmarkSettings(heads=(heads,), implementations=names, **given)  # type: ignore[arg-type]
    find_device(settings.device, settings.dtype)
    if perfetto is not None:
        for name in names:
            check_place(perfetto / f"{name}.json")
    torch.set_num_threads(settings.threads)
    click.echo(
        f"{heads_written(heads)}, head_dim {settings.config(heads).head_dim}, "
        f"seq_len {settings.seq_len}\n{environment(settings)}"
    )
    layer = prepare(settings, heads)
    traced = [_trace_one(layer, name, perfetto) for name in names]
    if not any(traced):
        raise HeadscopeError(
            "at least one implementation must be traced; none was: the sentences above say why."
        )


def _trace_one(layer: "Layer", name: str, perfetto: Path | None) -> bool:
    """Trace one, and say what it shows; or why it cannot be computed here."""
    from attention.benchmark.layer import build
    from attention.benchmark.trace import trace as trace_pass
    from attention.benchmark.why import why

    click.echo(f"\n{name}")
    try:
        found = trace_pass(build(layer, name), layer.x)
    except HeadscopeError as error:  # of one: the others can still be traced
        click.echo(f"  {error}")
        return False
    for sentence in why(found, name):
        click.echo(f"  {sentence}")
    if perfetto is not None:
        path = perfetto / f"{name}.json"
        write_whole(path, found.chrome)
        click.echo(f"  {path}")
    return True
