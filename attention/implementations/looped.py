"""The wrapper: single heads in a ModuleList, computed one after the other."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from attention.config import AttentionConfig
from attention.implementations.base import AttentionModule, Observation, Observe, Output, rotated
from attention.rotary import Rotary


@dataclass(frozen=True)
class HeadResult:
    """What one head computed; all (batch, pos, head_dim) but the pattern (batch, query, key)."""

    z: Tensor
    pattern: Tensor
    q: Tensor
    k: Tensor
    v: Tensor


class CausalSelfAttention(nn.Module):
    """One causal head with projections of its own.

    Args:
        config: sizes of the layer it belongs to; this head is `head_dim` wide.
        layer: lends the softmax with the layer's mask, and dropout.

    Source: Raschka, Build a Large Language Model (From Scratch), section 3.5.
    """

    def __init__(self, config: AttentionConfig) -> None:
        super().__init__()
        self.scale = config.scale
        self.W_query = nn.Linear(config.d_in, config.head_dim, bias=config.qkv_bias)
        self.W_key = nn.Linear(config.d_in, config.head_dim, bias=config.qkv_bias)
        self.W_value = nn.Linear(config.d_in, config.head_dim, bias=config.qkv_bias)

    def forward(self, x: Tensor, layer: AttentionModule, rotary: Rotary | None) -> HeadResult:
        """Attend from every position of x to itself and all before it."""
        q, k = rotated(self.W_query(x), self.W_key(x), rotary)
        v = self.W_value(x)
        scores = (q * self.scale) @ k.transpose(-2, -1)  # batch query key
        pattern = layer.softmax(scores)
        return HeadResult(layer.dropout(pattern) @ v, pattern, q, k, v)


class MultiHeadAttentionWrapper(AttentionModule):
    """The loop: `torch.cat` over a list comprehension of heads, then W_O if there is one.

    Nothing runs concurrently: each head's operators are dispatched after the last head's. Heads
    that share a kv head share its two projections, so that training keeps them equal; each still
    computes them by itself.

    Source: Raschka, Build a Large Language Model (From Scratch), section 3.6.1.
    """

    layout = "looped"

    def __init__(self, config: AttentionConfig) -> None:
        super().__init__(config)
        self.heads = nn.ModuleList(CausalSelfAttention(config) for _ in range(config.num_heads))
        for i, head in enumerate(self.heads):
            lender = self.heads[i - i % config.heads_per_kv]
            head.W_key, head.W_value = lender.W_key, lender.W_value
        self.out_proj = self._out_projection()

    def forward(
        self,
        x: Tensor,
        need_pattern: bool = False,
        *,
        rotary: Rotary | None = None,
        observe: Observe | None = None,
    ) -> Output:
        """See `AttentionModule`."""
        self.check_input(x)
        results = [head(x, self, rotary) for head in self.heads]
        if observe is not None:
            own_kv = results[:: self.config.heads_per_kv]  # heads that share a kv head repeat it
            q = torch.stack([r.q for r in results], dim=1)
            k, v = (torch.stack([getattr(r, n) for r in own_kv], dim=1) for n in "kv")
            observe(Observation(q, k, v))
        out: Tensor = self.out_proj(torch.cat([r.z for r in results], dim=-1))
        if not need_pattern:
            return out
        return out, torch.stack([r.pattern for r in results], dim=1)
