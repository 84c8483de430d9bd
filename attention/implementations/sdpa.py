"""PyTorch's own fused kernel: the fastest forward pass, and no pattern to show."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attention.implementations.base import AttentionModule
from attention.implementations.batched import BatchedAttention
from attention.limits import Asked
from attention.masks import reach

BLOCK_ROWS = 512  # queries that share a mask


class SdpaAttention(BatchedAttention):
    """The batched projections with `scaled_dot_product_attention` between them.

    The kernel never holds the pattern; `RunRecord.pattern` recomputes it from q and k.
    """

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, None]:
        """See `BatchedAttention`; there is no pattern."""
        return causal_kernel(q, k, v, self), None


def causal_kernel(q: Tensor, k: Tensor, v: Tensor, layer: AttentionModule) -> Tensor:
    """Each head's mix of values by PyTorch's kernel; the last query is at the last key.

    No mask is needed where each query sees all before it. Elsewhere the kernel gets some rows at
    a time, with the keys that they see and a mask of these alone.

    Args:
        q: (batch, head, query, head_dim).
        k: (batch, kv_head, key, head_dim), at least as many keys as queries.
        v: as k.
        layer: lends the sizes, and dropout.

    Returns:
        z, (batch, head, query, head_dim).
    """
    queries, keys = q.shape[-2], k.shape[-2]
    window = layer.config.window_in(keys)
    dropout = layer.dropout.p if layer.training else 0.0  # the kernel ignores eval()
    kernel = partial(
        scaled_dot_product_attention,
        dropout_p=dropout,
        scale=layer.config.scale,
        enable_gqa=q.shape[1] > k.shape[1],
    )
    if queries == 1:
        return _one_row(kernel, q, *(t[..., -(window or keys) :, :] for t in (k, v)))
    if queries == keys and window is None:  # puts the first query at the first key
        return kernel(q, k, v, is_causal=True)
    if torch.compiler.is_compiling():  # the mask is made in the kernel
        return kernel(q, k, v, attn_mask=layer.allowed(queries, keys, device=q.device))
    places = range(keys - queries, keys)
    parts = [
        _rows(kernel, q, k, v, places[start : start + BLOCK_ROWS], window)
        for start in range(0, queries, BLOCK_ROWS)
    ]
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=2)


def _one_row(kernel: Callable[..., Tensor], q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """One query that sees all keys: heads of a kv head are so many queries, k is not repeated."""
    grouped = q.reshape(q.shape[0], k.shape[1], q.shape[1] // k.shape[1], q.shape[-1])
    return kernel(grouped, k, v, enable_gqa=False).reshape(q.shape)


def _rows(
    kernel: Callable[..., Tensor],
    q: Tensor,
    k: Tensor,
    v: Tensor,
    places: range,
    window: int | None,
) -> Tensor:
    """The queries at some of the keys' positions."""
    begin = k.shape[2] - q.shape[2]  # of the first query
    first = 0 if window is None else max(0, places.start - window + 1)
    seen = slice(first, places.stop)
    at = torch.arange(first, places.stop, device=q.device)
    return kernel(
        q[..., places.start - begin : places.stop - begin, :],
        k[..., seen, :],
        v[..., seen, :],
        attn_mask=reach(at[places.start - first :], at, window),
    )


def limits(asked: Asked) -> str | None:
    """What the kernel cannot compute: it has nothing between the scores and the mask."""
    if asked.config.soft_cap is None:
        return None
    return (
        "soft_cap must be None for scaled_dot_product_attention, which hands no scores out; got "
        f"{asked.config.soft_cap}. Use another implementation, such as batched."
    )
