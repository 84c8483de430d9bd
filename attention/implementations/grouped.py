"""Shared kv heads without a copy of them: one product for all heads that use the same one."""

from torch import Tensor

from attention.implementations.batched import BatchedAttention


class GroupedAttention(BatchedAttention):
    """As batched, but k and v of a shared kv head are broadcast rather than repeated.

    `batched` repeats them (`repeat_interleave`) until there is one for each query head. Here the
    queries of the heads that share a kv head stand below one another, so that one product with
    that head's keys, and one with its values, serves them all. A matmul over a broadcast axis
    would copy them as well, behind the scenes. Without shared kv heads the two are the same.

    Source: Ainslie et al. 2023 (GQA), section 2.2; Shazeer 2019 (MQA).
    """

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor | None]:
        """See `BatchedAttention`."""
        sharing = (self.config.num_kv_heads, self.config.heads_per_kv)
        rows = (self.config.heads_per_kv, q.shape[2])
        q = (q * self.config.scale).unflatten(1, sharing).flatten(2, 3)  # batch kv_head row dim
        scores = (q @ k.transpose(-2, -1)).unflatten(2, rows)  # batch kv_head sharing query key
        pattern = self.softmax(scores)
        z = (self.dropout(pattern).flatten(2, 3) @ v).unflatten(2, rows)
        return z.flatten(1, 2), pattern.flatten(1, 2)
