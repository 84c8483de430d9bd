"""Rotary positions: q and k are turned by an angle that grows with the position."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Rotary(nn.Module):
    """Rotates the two halves of each head's features, as Llama does.

    Args:
        head_dim: features of a head; even.
        context_length: positions to prepare, tokens.
        theta: the base of the wavelengths.

    Source: Su et al. 2021 (RoFormer), section 3.2; halves instead of pairs as in Llama.
    """

    cos: Tensor
    sin: Tensor

    def __init__(self, head_dim: int, context_length: int, *, theta: float = 10_000.0) -> None:
        super().__init__()
        rates = theta ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)
        angles = torch.arange(context_length, dtype=torch.float64)[:, None] * rates
        self.register_buffer("cos", angles.cos().float(), persistent=False)
        self.register_buffer("sin", angles.sin().float(), persistent=False)

    def forward(
        self, x: Float[Tensor, "*batch pos head_dim"], start: int = 0
    ) -> Float[Tensor, "*batch pos head_dim"]:
        """Turn q or k; the lengths of the vectors stay what they were.

        Args:
            x: the vectors.
            start: the position of the first of them.
        """
        end = start + x.shape[-2]
        cos, sin = self.cos[start:end], self.sin[start:end]
        first, second = x.chunk(2, dim=-1)
        turned = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
        return turned.to(x.dtype)
