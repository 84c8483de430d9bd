"""`python -m attention trace`: do two heads ever run at once, and where does the time go?"""

from pathlib import Path

import click

from attention.errors import ConfigError


@click.command()
@click.option("--heads", default=12, show_default=True, help="How many heads.")
@click.option(
    "--implementations", default="looped,batched", show_default=True, help="What to trace."
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
    if perfetto is not None and not perfetto.is_dir():
        raise ConfigError(f"perfetto must be a folder that exists; got {str(perfetto)!r}.")
    import torch

    from attention.benchmark import BenchmarkSettings, environment
    from attention.benchmark.layer import build, prepare
    from attention.benchmark.trace import trace as trace_pass
    from attention.benchmark.why import why
    from attention.devices import find_device

    given = {**sizes, **({} if threads is None else {"threads": threads})}
    names = tuple(part.strip() for part in implementations.split(","))
    settings = BenchmarkSettings(heads=(heads,), implementations=names, **given)  # type: ignore[arg-type]
    find_device(settings.device, settings.dtype)
    torch.set_num_threads(settings.threads)
    click.echo(
        f"{heads} heads of {settings.config(heads).head_dim} features, {settings.seq_len} tokens\n"
        f"{environment(settings)}"
    )
    layer = prepare(settings, heads)
    for name in names:
        found = trace_pass(build(layer, name), layer.x)
        click.echo(f"\n{name}")
        for sentence in why(found, name):
            click.echo(f"  {sentence}")
        if perfetto is not None:
            path = perfetto / f"{name}.json"
            path.write_text(found.chrome, encoding="utf-8")
            click.echo(f"  {path}")
