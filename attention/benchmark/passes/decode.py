"""One new token after a text whose keys and values are kept, as in writing."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from attention.benchmark.passes.base import Given, Pass, Ready, Result
from attention.benchmark.positions import Positions, one_more
from attention.implementations.base import AttentionModule, merge_heads, split_heads
from attention.implementations.batched import BatchedAttention
from attention.kv_cache import KVCache

if TYPE_CHECKING:
    from attention.implementations import Implementation

READ_AT_ONCE = 512  # tokens of the text; a square of a long text would not fit in memory


class Decode(Pass):
    """One step with the KV cache: the text was read before, by the implementation itself."""

    name = "decode"
    title = "Decode"
    summary = "One new token after the text, whose keys and values are in a KV cache."
    unit = "decode step"
    tokens = "1 token after {}"
    extra = 1

    def positions(self, seq_len: int) -> Positions:
        """See `Pass`."""
        return one_more(seq_len)

    def rows_held(self, seq_len: int) -> int:
        """See `Pass`."""
        return min(seq_len, READ_AT_ONCE)

    def why_not(self, entry: "Implementation", kind: str) -> str | None:
        """Refuse what cannot read on."""
        if entry.has_cache:
            return None
        return (
            f"passes must not be decode for {entry.title}: it has no KV cache and would compute "
            "every key and value anew."
        )

    def exact(self, module: BatchedAttention, given: Given) -> Result:
        """The last row of the whole text, without a cache."""
        config = module.config
        with torch.inference_mode():
            q, k, v = module.project(given.x)
            q = split_heads(q[:, -1:], config.num_heads)
            k, v = (split_heads(t, config.num_kv_heads) for t in (k, v))
            z, pattern = module.attend(q, k, v)
            return Result(module.out_proj(merge_heads(z)), pattern)

    def ready(self, module: AttentionModule, given: Given) -> Ready:
        """See `Pass`; each step begins with the cache as it was after the text."""
        x, token = given.x, given.x[:, -1:].contiguous()
        seq_len = x.shape[1] - 1
        cache = KVCache(module.config, len(x), room=seq_len + 1, device=x.device, dtype=x.dtype)
        with torch.inference_mode():
            for part in x[:, :seq_len].split(READ_AT_ONCE, dim=1):
                module.forward(part, cache=cache)  # not compiled: only the step is timed

        def step() -> Tensor:
            cache.read = seq_len
            out: Tensor = module(token, cache=cache)
            return out

        def with_pattern() -> tuple[Tensor, Tensor | None]:
            cache.read = seq_len
            out, pattern = module(token, need_pattern=True, cache=cache)
            return out, pattern

        return Ready(step, Result, with_pattern)
