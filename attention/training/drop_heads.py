"""Heads left out at random while training, so that none does a job that no other can take over."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from attention.model import LanguageModel


@contextmanager
def heads_dropped(model: LanguageModel, share: float, generator: torch.Generator) -> Iterator[None]:
    """Leave each head out of each row with a chance of `share`; the others count for more.

    A job that two heads had split, one for each half of the words, is then worth doing whole.

    Args:
        model: whose heads; a forward pass within draws anew in every layer.
        share: 0 to below 1; nothing is drawn at 0.
        generator: the source of chance.

    Source: Zhou et al. 2020, Scheduled DropHead.
    """
    num_heads = model.config.num_heads

    def drop(module: nn.Module, args: tuple[Tensor]) -> tuple[Tensor]:
        (z,) = args  # batch pos d_out
        kept = torch.rand(z.shape[0], 1, num_heads, 1, generator=generator) >= share
        by_head = z.unflatten(-1, (num_heads, -1))
        return ((by_head * (kept / (1 - share)).to(z.dtype)).flatten(-2),)

    blocks = model.blocks if share else ()
    layers = [block.get_submodule("attn.out_proj") for block in blocks]
    hooks = [layer.register_forward_pre_hook(drop) for layer in layers]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
