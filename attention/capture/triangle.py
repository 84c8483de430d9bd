"""The torch core: blocks of rows, each with only the keys that its last row may see."""

from functools import cache
from math import prod

import torch
from jaxtyping import Float
from torch import Tensor

from attention.capture.buffers import POOL

SCRATCH_BYTES = 64 << 20  # the most scores held at a time
FEWEST_ROWS = 16


def attend(
    q: Float[Tensor, "batch num_heads query head_dim"],
    k: Float[Tensor, "batch num_kv_heads key head_dim"],
    v: Float[Tensor, "batch num_kv_heads key head_dim"] | None,
    pattern: Float[Tensor, "batch num_heads query key"] | None,
    *,
    scale: float,
    packed: list[Tensor] | None = None,
) -> Float[Tensor, "batch query num_heads head_dim"] | None:
    """Causal attention in place, without gradients; the last query is at the last key.

    Half of the square is never computed, and the scores of a block become its weights in the same
    memory. Leaves out dropout.

    Args:
        q: queries, already rotated.
        k: keys; query head h uses kv head h // (num_heads / num_kv_heads).
        v: values, or None where only the pattern is wanted.
        pattern: written in place, exact zeros after each query; None where none is wanted.
        scale: the factor on q·k; it is put on q, so that float16 does not overflow.
        packed: gets the weights of each block (batch, head, query, key seen), in their own memory.

    Returns:
        each head's mix of values, or None without v.
    """
    batch, num_heads, queries, head_dim = q.shape
    num_kv_heads, keys = k.shape[1:3]
    groups, shared = batch * num_kv_heads, num_heads // num_kv_heads
    q = (q * scale).reshape(groups, shared, queries, head_dim)
    k = k.reshape(groups, keys, head_dim).transpose(1, 2)  # group head_dim key
    rows = _block_rows(queries, keys, bytes_a_row=batch * num_heads * keys * q.itemsize)
    scratch = None if packed is not None else POOL.take((batch * num_heads * rows * keys,), q.dtype)
    z = None if v is None else q.new_empty(batch, queries, num_heads, head_dim)
    v = None if v is None else v.reshape(groups, keys, head_dim)
    for first in range(0, queries, rows):
        last = min(first + rows, queries)
        shape = (groups, shared * (last - first), keys - queries + last)
        scores = POOL.take(shape, q.dtype) if scratch is None else _part(scratch, shape)
        torch.bmm(q[:, :, first:last].reshape(*shape[:2], -1), k[:, :, : shape[2]], out=scores)
        weights = _softmax(scores.view(batch, num_heads, last - first, shape[2]))
        if v is not None and z is not None:
            _mix(weights, v, z[:, first:last])
        if packed is not None:
            packed.append(weights)
        if pattern is not None:
            pattern[:, :, first:last, : shape[2]] = weights
            pattern[:, :, first:last, shape[2] :] = 0
    return z


def _mix(weights: Tensor, v: Tensor, z: Tensor) -> None:
    """A block's mixes of values, written into z (batch, query, head, head_dim)."""
    batch, num_heads, rows, seen = weights.shape
    mixed = torch.bmm(weights.view(v.shape[0], -1, seen), v[:, :seen])
    z.copy_(mixed.view(batch, num_heads, rows, v.shape[2]).transpose(1, 2))


def _part(scratch: Tensor, shape: tuple[int, int, int]) -> Tensor:
    return scratch[: prod(shape)].view(shape)


def _softmax(scores: Tensor) -> Tensor:
    """The weights of a block whose last row is at its last key; in the scores' memory if it can."""
    rows = scores.shape[-2]
    scores[..., -rows:].add_(_after_the_diagonal(rows, scores.dtype))
    wide = torch.promote_types(scores.dtype, torch.float32)
    if wide == scores.dtype:
        return torch.softmax(scores, -1, out=scores)
    return scores.softmax(-1, dtype=wide).to(scores.dtype)


def _block_rows(queries: int, keys: int, *, bytes_a_row: int) -> int:
    """Rows of a block: few waste less of the triangle, many make better use of the matrix product.

    64 and 128 were the fastest of 32 to 256 for 12 heads of 64 features.
    """
    usual = 64 if keys <= 256 else 128
    fitting = SCRATCH_BYTES // max(1, bytes_a_row)
    return max(1, min(usual, queries, max(FEWEST_ROWS, fitting)))


@cache
def _after_the_diagonal(rows: int, dtype: torch.dtype) -> Tensor:
    """What is added to the scores of a square: -inf after the diagonal, else 0."""
    with torch.inference_mode(mode=False):  # kept for all who come
        return torch.full((rows, rows), -torch.inf, dtype=dtype).triu(1)
