"""The specification: attention as a plain loop over heads, queries and keys."""

import torch
from torch import Tensor, nn

from attention.config import AttentionConfig
from attention.implementations.base import (
    AttentionModule,
    Observation,
    Observe,
    Output,
    capped,
    rotated,
)
from attention.kv_cache import KVCache
from attention.rotary import Positions


class ReferenceAttention(AttentionModule):
    """One number after the other, as the formula is written; far too slow to use.

    Leaves out everything that makes attention fast. Dropout is not part of the formula, so
    it is left out too.

    Source: Vaswani et al. 2017, section 3.2.
    """

    layout = "heads"

    def __init__(self, config: AttentionConfig) -> None:
        super().__init__(config)
        heads, kv_heads, dim = config.num_heads, config.num_kv_heads, config.head_dim
        self.W_Q = nn.Parameter(torch.empty(heads, config.d_in, dim))
        self.W_K = nn.Parameter(torch.empty(kv_heads, config.d_in, dim))
        self.W_V = nn.Parameter(torch.empty(kv_heads, config.d_in, dim))
        bias, out_bias = config.qkv_bias, config.out_proj and config.out_bias
        self.b_Q = nn.Parameter(torch.empty(heads, dim)) if bias else None
        self.b_K = nn.Parameter(torch.empty(kv_heads, dim)) if bias else None
        self.b_V = nn.Parameter(torch.empty(kv_heads, dim)) if bias else None
        self.W_O = (
            nn.Parameter(torch.empty(heads, dim, config.d_model)) if config.out_proj else None
        )
        self.b_O = nn.Parameter(torch.empty(config.d_model)) if out_bias else None

    def forward(
        self,
        x: Tensor,
        need_pattern: bool = False,
        *,
        rotary: Positions | None = None,
        observe: Observe | None = None,
        cache: KVCache | None = None,
    ) -> Output:
        """See `AttentionModule`; the pattern is always computed."""
        self.check_input(x, cache)
        start = 0 if cache is None else cache.read
        q, k, v = (
            project(x, weight, bias)
            for weight, bias in ((self.W_Q, self.b_Q), (self.W_K, self.b_K), (self.W_V, self.b_V))
        )
        q, k = rotated(q, k, rotary, start)
        if observe is not None:
            observe(Observation(q, k, v))
        if cache is not None:
            k, v = cache.extend(k, v)
        z, pattern = self._attend(q, k, v, start)
        if cache is not None:
            cache.advance(x.shape[1])
        out = self._join(z)
        return (out, pattern) if need_pattern else out

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, start: int) -> tuple[Tensor, Tensor]:
        """Mix and pattern of queries whose first is at key `start`."""
        narrow, window = q.dtype, self.config.window
        batch, num_heads, seq_len, _ = q.shape
        wide = torch.promote_types(narrow, torch.float32)  # sums of float16 overflow
        q, k, v = q.to(wide) * self.config.scale, k.to(wide), v.to(wide)
        pattern = q.new_zeros(batch, num_heads, seq_len, k.shape[2])
        z = torch.zeros_like(q)
        for b in range(batch):
            for head in range(num_heads):
                kv_head = head // self.config.heads_per_kv
                for query in range(seq_len):
                    end = start + query + 1  # causal: no key after the query
                    seen = range(0 if window is None else max(0, end - window), end)
                    scores = [q[b, head, query] @ k[b, kv_head, key] for key in seen]
                    weights = capped(torch.stack(scores), self.config.soft_cap).softmax(dim=0)
                    pattern[b, head, query, seen.start : end] = weights
                    mixed = (w * v[b, kv_head, key] for w, key in zip(weights, seen, strict=True))
                    z[b, head, query] = sum(mixed)
        return z.to(narrow), pattern.to(narrow)

    def _join(self, z: Tensor) -> Tensor:
        """Each head through its own slice of W_O, summed; or the heads side by side."""
        per_head = z.unbind(dim=1)
        if self.W_O is None:
            return torch.cat(per_head, dim=-1)
        out = sum((head @ w for head, w in zip(per_head, self.W_O, strict=True)), z.new_zeros(()))
        return out if self.b_O is None else out + self.b_O


def project(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Put x through each head's own matrix: (batch, head, pos, head_dim)."""
    heads = [x @ w if bias is None else x @ w + bias[i] for i, w in enumerate(weight)]
    return torch.stack(heads, dim=1)
