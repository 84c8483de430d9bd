"""The loop as the book prints it: every head keeps a float mask of its own and converts it."""

import torch
from torch import Tensor

from attention.config import AttentionConfig
from attention.implementations.base import AttentionModule, capped, softmax_except
from attention.implementations.looped import CausalSelfAttention, MultiHeadAttentionWrapper
from attention.limits import Asked
from attention.masks import CausalMask

MOST_MASK_BYTES = 1 << 28  # of a layer: a model has many


class FloatMask(CausalMask):
    """The book's mask: float, as long as the context, 1 where a key is blocked.

    Args:
        context_length: its side, tokens.
        window: see `CausalMask`.
    """

    allowed: Tensor

    def __init__(self, context_length: int, window: int | None = None) -> None:
        super().__init__(window)
        self.side = context_length
        self.register_buffer("allowed", self._blocked(None), persistent=False)

    def begin(self, device: str | torch.device) -> None:
        """Make the whole square, once and for all."""
        self.allowed = self._blocked(device)

    def _blocked(self, device: str | torch.device | None) -> Tensor:
        blocked = torch.ones(self.side, self.side, device=device).triu(diagonal=1)
        if self.window is not None:
            blocked += torch.ones(self.side, self.side, device=device).tril(-self.window)
        return blocked

    def forward(self, seq_len: int, device: torch.device) -> Tensor:
        """What is blocked, (query, key): the whole context converted to bool, then sliced."""
        return self.allowed.bool()[:seq_len, :seq_len]


class BookHead(CausalSelfAttention):
    """One head with a mask of its own.

    Source: Raschka, Build a Large Language Model (From Scratch), section 3.5.3, whose head calls
    `self.mask.bool()[:num_tokens, :num_tokens]` in each forward.
    """

    def __init__(self, config: AttentionConfig) -> None:
        super().__init__(config)
        self.mask = FloatMask(config.context_length, config.window)

    def softmax(self, scores: Tensor, layer: AttentionModule) -> Tensor:
        """See `CausalSelfAttention`; the layer's mask is not used."""
        queries, keys = scores.shape[-2:]
        blocked = self.mask(keys, scores.device)[keys - queries :]
        return softmax_except(blocked, capped(scores, layer.config.soft_cap))


class BookWrapper(MultiHeadAttentionWrapper):
    """The loop with the mask as the book has it: context_length² floats to bool, a head a forward.

    What it takes beyond `looped` is the mask's cost, not the loop's: it depends on the context's
    length, however short the text, and a mask that is bool from the start does without it.

    Source: Raschka, Build a Large Language Model (From Scratch), section 3.6.1.
    """

    head = BookHead


def limits(asked: Asked) -> str | None:
    """Refuse a context whose float masks would fill the memory: a square of it for every head."""
    config = asked.config
    needed = config.num_heads * config.context_length**2 * 4
    if needed <= MOST_MASK_BYTES:
        return None
    return (
        f"float masks of looped_book must be at most {MOST_MASK_BYTES / 1e6:.0f} MB a layer; "
        f"{config.num_heads} heads of context_length {config.context_length} need "
        f"{needed / 1e6:.0f} MB. Use looped, whose heads share one mask."
    )
