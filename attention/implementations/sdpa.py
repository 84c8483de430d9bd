"""PyTorch's own fused kernel: the fastest forward pass, and no pattern to show."""

from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attention.implementations.base import AttentionModule
from attention.implementations.batched import BatchedAttention
from attention.limits import Asked


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
    scale, windowed = layer.config.scale, layer.config.window_in(keys) is not None
    if queries == 1 and not windowed:
        # It sees all; heads of one kv head are so many queries, and k is not repeated.
        grouped = q.reshape(q.shape[0], k.shape[1], shared, q.shape[-1])
        z = scaled_dot_product_attention(grouped, k, v, dropout_p=dropout, scale=scale)
        return z.reshape(q.shape)
    plain = queries == keys and not windowed
    return scaled_dot_product_attention(
        q,
        k,
        v,
        # is_causal has no window, and puts the first query at the first key
        attn_mask=None if plain else layer.allowed(queries, keys, device=q.device),
        dropout_p=dropout,
        is_causal=plain,
        scale=scale,
        enable_gqa=shared > 1,
    )


def limits(asked: Asked) -> str | None:
    """What the kernel cannot compute: it has nothing between the scores and the mask."""
    if asked.config.soft_cap is None:
        return None
    return (
        "soft_cap must be None for scaled_dot_product_attention, which hands no scores out; got "
        f"{asked.config.soft_cap}. Use another implementation, such as batched."
    )
