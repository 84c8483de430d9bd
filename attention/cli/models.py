"""`python -m attention models`: which models there are here."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from attention.known_models import KnownModel


@click.command()
def models() -> None:
    """List the models found here, and whether each can be opened.

    They are the embedded one, what is in models/ (folders with a config.json, and files that are
    models by themselves) and the cache of the Hugging Face hub. Give the name before the colon as
    --model; any other folder, file or id of the hub can be given too.
    """
    from attention.known_models import find_models
    from attention.memory import as_text, free_memory

    for found in find_models():
        click.echo(f"{found.source}: {_told(found)}")
    free = free_memory()
    if free is not None:
        click.echo(f"Free memory: {as_text(free)}.", err=True)


def _told(found: "KnownModel") -> str:
    import torch

    from attention.memory import as_text

    config = found.config
    needed = found.memory_needed(torch.float32)
    if config is None or needed is None:
        return f"cannot be opened: {found.problem}"
    shared = config.attention.num_kv_heads
    kv_heads = "" if shared == config.num_heads else f" ({shared} kv heads)"
    return (
        f"{config.num_layers} layers × {config.num_heads} heads{kv_heads}, "
        f"d_model {config.d_model}, vocabulary {config.vocab_size}, "
        f"context {config.context_length} tokens; {as_text(found.num_bytes)} in {found.dtype}, "
        f"{as_text(needed)} of memory in float32"
    )
