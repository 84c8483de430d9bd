"""`python -m attention run`: a text through a model, into a file."""

import re
from pathlib import Path

import click

from attention.cli.options import (
    ModelChoice,
    TextChoice,
    implementation_option,
    model_options,
    text_options,
)


def parse_head(
    context: click.Context,
    parameter: click.Parameter,
    values: tuple[str, ...],
) -> tuple[tuple[int, int], ...]:
    """`3.0` as layer 3, head 0.

    Raises:
        BadParameter: when it is not two whole numbers with a dot between.
    """
    for value in values:
        if not re.fullmatch(r"[0-9]{1,9}\.[0-9]{1,9}", value):
            raise click.BadParameter(
                f"a head must be LAYER.HEAD such as 0.3; got {value!r}.", context, parameter
            )
    pairs = (value.split(".") for value in values)
    return tuple((int(layer), int(head)) for layer, head in pairs)


@click.command()
@model_options
@text_options
@implementation_option
@click.option("--layer", type=int, help="Only this layer's patterns, from 0.")
@click.option("--head", type=int, help="Only this head's patterns, from 0.")
@click.option(
    "--ablate",
    metavar="L.H",
    multiple=True,
    callback=parse_head,
    help="Knock a head out, as layer.head from 0; may be repeated.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE.npz",
    help="The file to write.",
)
def run(
    *,
    model: ModelChoice,
    source: TextChoice,
    implementation: str,
    layer: int | None,
    head: int | None,
    ablate: tuple[tuple[int, int], ...],
    out: Path,
) -> None:
    """Run a text through a model and write what its heads did.

    The file holds ids (T,), labels (T,), offsets (T, 2) in characters, logits (T, V), and
    pattern (layers, heads, T, T) of the layers and heads that it lists under those names.
    """
    text = source.read()
    from attention.cli.files import check_output, write_run
    from attention.errors import require_head
    from attention.memory import memory_errors_as_sentences

    check_output(out)
    opened = model.load()
    num_layers, num_heads = opened.config.num_layers, opened.config.num_heads
    require_head(layer or 0, head or 0, num_layers=num_layers, num_heads=num_heads)
    layers = list(range(num_layers)) if layer is None else [layer]
    heads = list(range(num_heads)) if head is None else [head]
    tokens = source.tokens(text, opened)
    record = opened.run(tokens, implementation=implementation, ablate=ablate)
    with memory_errors_as_sentences(opened.device):
        write_run(out, record, layers, heads)
    click.echo(
        f"{out}: {record.seq_len} tokens, {len(layers)} × {len(heads)} patterns, "
        f"{record.implementation} on {opened.device} in {model.dtype}"
    )
