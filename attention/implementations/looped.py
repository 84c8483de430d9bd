"""The wrapper: single heads in a ModuleList, computed one after the other."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from attention.config import AttentionConfig
from attention.implementations.base import AttentionModule, Observation, Observe, Output, rotated
from attention.kv_cache import HeadCache, KVCache
from attention.rotary import Positions


@dataclass(frozen=True)
class HeadResult:
    """What one head computed; all (batch, pos, head_dim) but the pattern (batch, query, key)."""

    z: Tensor
    pattern: Tensor | None
    q: Tensor
    k: Tensor
    v: Tensor


RunHead = Callable[[int, nn.Module], HeadResult]


class CausalSelfAttention(nn.Module):
    """One causal head with projections of its own.

    Args:
        config: sizes of the layer it belongs to; this head is `head_dim` wide.

    Source: Raschka, Build a Large Language Model (From Scratch), section 3.5.
    """

    def __init__(self, config: AttentionConfig) -> None:
        super().__init__()
        self.scale = config.scale
        self.W_query = nn.Linear(config.d_in, config.head_dim, bias=config.qkv_bias)
        self.W_key = nn.Linear(config.d_in, config.head_dim, bias=config.qkv_bias)
        self.W_value = nn.Linear(config.d_in, config.head_dim, bias=config.qkv_bias)

    def forward(
        self,
        x: Tensor,
        layer: AttentionModule,
        rotary: Positions | None,
        cache: HeadCache | None = None,
    ) -> HeadResult:
        """Attend from every position of x to itself and all before it.

        Args:
            x: (batch, pos, d_in).
            layer: lends its mask and dropout.
            rotary: gives q and k their positions; None for none.
            cache: what was read before x; None for nothing.
        """
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        q, k = rotated(q, k, rotary, 0 if cache is None else cache.read)
        keys, values = (k, v) if cache is None else cache.extend(k, v)
        z, pattern = self.attend(q, keys, values, layer)
        return HeadResult(z, pattern, q, k, v)

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, layer: AttentionModule
    ) -> tuple[Tensor, Tensor | None]:
        """This head's mix of values z (batch, pos, head_dim), and the pattern if kept."""
        pattern = self.softmax((q * self.scale) @ k.transpose(-2, -1), layer)  # batch query key
        return layer.dropout(pattern) @ v, pattern

    def softmax(self, scores: Tensor, layer: AttentionModule) -> Tensor:
        """Scores to a pattern with the layer's mask, which its heads share."""
        return layer.softmax(scores)


class MultiHeadAttentionWrapper(AttentionModule):
    """The loop: `torch.cat` over a list comprehension of heads, then W_O if there is one.

    Nothing runs concurrently: each head's operators are dispatched after the last head's. Heads
    that share a kv head share its two projections, so that training keeps them equal; each still
    computes them by itself.

    Source: Raschka, Build a Large Language Model (From Scratch), section 3.6.1.
    """

    layout = "looped"
    head: ClassVar[type[CausalSelfAttention]] = CausalSelfAttention

    def __init__(self, config: AttentionConfig) -> None:
        super().__init__(config)
        self.heads = nn.ModuleList(type(self).head(config) for _ in range(config.num_heads))
        for i, head in enumerate(self.heads):
            lender = self.heads[i - i % config.heads_per_kv]
            head.W_key, head.W_value = lender.W_key, lender.W_value
        self.out_proj = self._out_projection()

    def each_head(self, run: RunHead, keys: int) -> list[HeadResult]:
        """Call `run` with each head's number and module.

        Args:
            run: computes one head.
            keys: how many positions the heads attend to; what they share can be made beforehand.

        Returns:
            the results in the order of the heads.
        """
        return [run(i, head) for i, head in enumerate(self.heads)]

    def forward(
        self,
        x: Tensor,
        need_pattern: bool = False,
        *,
        rotary: Positions | None = None,
        observe: Observe | None = None,
        cache: KVCache | None = None,
    ) -> Output:
        """See `AttentionModule`."""
        self.check_input(x, cache)
        shared = self.config.heads_per_kv

        def run(i: int, head: nn.Module) -> HeadResult:
            kept = None if cache is None else cache.head(i // shared)
            result: HeadResult = head(x, self, rotary, kept)
            return result

        results = self.each_head(run, x.shape[1] + (0 if cache is None else cache.read))
        if cache is not None:
            cache.advance(x.shape[1])
        if observe is not None:
            own_kv = results[::shared]  # heads that share a kv head repeat it
            q = torch.stack([r.q for r in results], dim=1)
            k, v = (torch.stack([getattr(r, n) for r in own_kv], dim=1) for n in "kv")
            observe(Observation(q, k, v))
        out: Tensor = self.out_proj(torch.cat([r.z for r in results], dim=-1))
        if not need_pattern:
            return out
        return out, _stacked([r.pattern for r in results])


def _stacked(patterns: list[Tensor | None]) -> Tensor | None:
    """The heads' patterns (batch, head, query, key); None where the heads keep none."""
    kept = [pattern for pattern in patterns if pattern is not None]
    return torch.stack(kept, dim=1) if kept else None
