"""PyTorch's own fused kernel: the fastest forward pass, and no pattern to show."""

from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attention.implementations.base import AttentionModule
from attention.implementations.batched import BatchedAttention


class SdpaAttention(BatchedAttention):
    """The batched projections with `scaled_dot_product_attention` between them.

    The kernel never holds the pattern; `RunRecord.pattern` recomputes it from q and k.
    """

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, None]:
        """See `BatchedAttention`; there is no pattern."""
        return causal_kernel(q, k, v, self), None


def causal_kernel(q: Tensor, k: Tensor, v: Tensor, layer: AttentionModule) -> Tensor:
    """Each head's mix of values by PyTorch's kernel; the last query is at the last key.

    Args:
        q: (batch, head, query, head_dim).
        k: (batch, kv_head, key, head_dim), at least as many keys as queries.
        v: as k.
        layer: lends the mask, and dropout.

    Returns:
        z, (batch, head, query, head_dim).
    """
    queries, keys, shared = q.shape[-2], k.shape[-2], q.shape[1] // k.shape[1]
    dropout = layer.dropout.p if layer.training else 0.0  # the kernel ignores eval()
    if queries == 1:  # it sees all; heads of one kv head are so many queries, and k is not repeated
        grouped = q.reshape(q.shape[0], k.shape[1], shared, q.shape[-1])
        return scaled_dot_product_attention(grouped, k, v, dropout_p=dropout).reshape(q.shape)
    shares = shared > 1
    if queries == keys:
        return scaled_dot_product_attention(
            q, k, v, dropout_p=dropout, is_causal=True, enable_gqa=shares
        )
    allowed = layer.allowed(queries, keys, device=q.device)  # is_causal: first query at first key
    return scaled_dot_product_attention(
        q, k, v, attn_mask=allowed, dropout_p=dropout, enable_gqa=shares
    )
