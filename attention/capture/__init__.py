"""All heads' patterns at about the price of an attention that has none: exact, CPU, no gradients.

Source: the row blocks are those of Rabe and Staats 2021 (Self-attention Does Not Need O(n²)
Memory) without their online softmax: whoever wants the whole pattern has each row whole.
"""

from jaxtyping import Float
from torch import Tensor

from attention.capture import triangle
from attention.capture.buffers import POOL
from attention.capture.choice import CHOICE, Core, capture_core, use_native
from attention.capture.packed import PackedPattern

WORTH_COMPILING = 1 << 22  # weights; the torch core takes some hundredths of a second for them


def attend(
    q: Float[Tensor, "batch num_heads query head_dim"],
    k: Float[Tensor, "batch num_kv_heads key head_dim"],
    v: Float[Tensor, "batch num_kv_heads key head_dim"],
    *,
    scale: float,
    need_pattern: bool,
) -> tuple[
    Float[Tensor, "batch num_heads query head_dim"],
    Float[Tensor, "batch num_heads query key"] | None,
]:
    """Causal attention, for tensors on the CPU that need no gradient.

    Args:
        q: queries; the last one is at the last key.
        k: keys; query head h uses kv head h // (num_heads / num_kv_heads).
        v: values.
        scale: the factor on q·k.
        need_pattern: whether the pattern is kept; it does not change the output by a bit.

    Returns:
        each head's mix of values, and the pattern or None: rows sum to 1, later keys are exactly
        0. Both are the caller's own.
    """
    pattern = _room(q, k) if need_pattern else None
    z = _run(capture_core(), q, k, v, pattern, scale=scale)
    assert z is not None  # there is v
    return z.transpose(1, 2), pattern


def attend_packed(
    q: Float[Tensor, "batch num_heads query head_dim"],
    k: Float[Tensor, "batch num_kv_heads key head_dim"],
    v: Float[Tensor, "batch num_kv_heads key head_dim"],
    *,
    scale: float,
) -> tuple[Float[Tensor, "batch num_heads query head_dim"], PackedPattern]:
    """As `attend`, with the patterns in half the memory, for whoever keeps those of many layers.

    It computes with the torch core, whose blocks are kept as they are.
    """
    packed: list[Tensor] = []
    z = triangle.attend(q, k, v, None, scale=scale, packed=packed)
    assert z is not None  # there is v
    return z.transpose(1, 2), PackedPattern(tuple(packed))


def patterns(
    q: Float[Tensor, "batch num_heads query head_dim"],
    k: Float[Tensor, "batch num_kv_heads key head_dim"],
    *,
    scale: float,
) -> Float[Tensor, "batch num_heads query key"]:
    """The patterns alone; see `attend`.

    Small ones don't wait until the C core is compiled: the torch core has them sooner.
    """
    pattern = _room(q, k)
    core = capture_core() if pattern.numel() >= WORTH_COMPILING else CHOICE.get_at_once()
    _run(core, q, k, None, pattern, scale=scale)
    return pattern


def _room(q: Tensor, k: Tensor) -> Tensor:
    batch, num_heads, queries, _ = q.shape
    return POOL.take((batch, num_heads, queries, k.shape[2]), q.dtype)


def _run(
    core: Core,
    q: Tensor,
    k: Tensor,
    v: Tensor | None,
    pattern: Tensor | None,
    *,
    scale: float,
) -> Tensor | None:
    if core.native is not None and core.native.takes(q, k, v):
        try:
            return core.native.attend(q, k, v, pattern, scale=scale)
        except MemoryError:
            pass  # the torch core may need less, or says so in torch's words
    return triangle.attend(q, k, v, pattern, scale=scale)


__all__ = [
    "POOL",
    "Core",
    "PackedPattern",
    "attend",
    "attend_packed",
    "capture_core",
    "patterns",
    "use_native",
]
