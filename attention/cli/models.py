"""`python -m attention models`: which models there are here."""

import click


@click.command()
def models() -> None:
    """List the embedded model and the folders in models/, and whether each can be opened.

    Any other folder can be opened too: give its path as --model.
    """
    from attention.loading import known_models

    for found in known_models():
        if found.config is None:
            click.echo(f"{found.source}: cannot be opened: {found.problem}")
            continue
        config = found.config
        click.echo(
            f"{found.source}: {config.num_layers} layers × {config.num_heads} heads, "
            f"d_model {config.d_model}, vocabulary {config.vocab_size}, "
            f"context {config.context_length} tokens"
        )
