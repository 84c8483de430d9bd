"""All heads at once: one projection each for q, k and v, heads as a dimension."""

from torch import Tensor, nn

from attention.config import AttentionConfig
from attention.implementations.base import (
    AttentionModule,
    Observation,
    Observe,
    Output,
    merge_heads,
    rotated,
    split_heads,
)
from attention.kv_cache import KVCache
from attention.rotary import Positions


class BatchedAttention(AttentionModule):
    """The loop's matrices stacked, so that each operator works on every head.

    Source: Raschka, Build a Large Language Model (From Scratch), section 3.6.2.
    """

    layout = "batched"

    def __init__(self, config: AttentionConfig) -> None:
        super().__init__(config)
        self._add_projections(config.d_out, config.num_kv_heads * config.head_dim)
        self.out_proj = self._out_projection()

    def _add_projections(self, q_width: int, kv_width: int) -> None:
        d_in, bias = self.config.d_in, self.config.qkv_bias
        self.W_query = nn.Linear(d_in, q_width, bias=bias)
        self.W_key = nn.Linear(d_in, kv_width, bias=bias)
        self.W_value = nn.Linear(d_in, kv_width, bias=bias)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """q, k and v, each (batch, pos, heads * head_dim)."""
        return self.W_query(x), self.W_key(x), self.W_value(x)

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor | None]:
        """Each head's mix of values z (batch, head, pos, head_dim), and the pattern if kept.

        With a cache there are more keys than queries: the last query is at the last key.
        """
        shared = self.config.heads_per_kv
        if shared > 1:
            k, v = k.repeat_interleave(shared, dim=1), v.repeat_interleave(shared, dim=1)
        scores = (q * self.config.scale) @ k.transpose(-2, -1)  # batch head query key
        pattern = self.softmax(scores)
        return self.dropout(pattern) @ v, pattern

    def mix(
        self, q: Tensor, k: Tensor, v: Tensor, need_pattern: bool
    ) -> tuple[Tensor, Tensor | None]:
        """As `attend`, for one that computes otherwise where nobody asks for the pattern."""
        return self.attend(q, k, v)

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
        q, k, v = self.project(x)
        q = split_heads(q, self.config.num_heads)  # batch head pos head_dim
        k, v = (split_heads(t, self.config.num_kv_heads) for t in (k, v))
        q, k = rotated(q, k, rotary, 0 if cache is None else cache.read)
        if observe is not None:
            observe(Observation(q, k, v))
        if cache is not None:
            k, v = cache.extend(k, v)
        z, pattern = self.mix(q, k, v, need_pattern)
        if cache is not None:
            cache.advance(x.shape[1])
        out: Tensor = self.out_proj(merge_heads(z))
        return (out, pattern) if need_pattern else out
