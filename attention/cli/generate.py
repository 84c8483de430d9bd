"""`python -m attention generate`: a model goes on writing."""

import click

from attention.cli.options import (
    ModelChoice,
    TextChoice,
    implementation_option,
    model_options,
    text_options,
)


@click.command()
@model_options
@text_options
@implementation_option
@click.option("--tokens", type=int, default=50, show_default=True, help="How many to add.")
@click.option(
    "--temperature",
    type=float,
    default=0.0,
    show_default=True,
    help="0 takes the likeliest token; 1 draws as the model expects.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    default=0,
    show_default=True,
    help="The same seed draws the same tokens.",
)
def generate(
    *,
    model: ModelChoice,
    source: TextChoice,
    implementation: str,
    tokens: int,
    temperature: float,
    seed: int,
) -> None:
    """Print the text with what the model adds to it; token ids where it has no tokenizer."""
    text = source.read()
    opened = model.load()
    written = opened.generate(
        source.tokens(text, opened),
        tokens,
        temperature=temperature,
        seed=seed,
        implementation=implementation,
    )
    if opened.tokenizer is None:
        click.echo(" ".join(map(str, written.ids)))
    else:
        click.echo(opened.tokenizer.decode(written.ids))
