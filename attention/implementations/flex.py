"""FlexAttention: PyTorch compiles a fused kernel from a mask that is written as a function."""

import warnings
from collections.abc import Callable
from functools import cache, lru_cache

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention

from attention.compiling import why_not_compiled
from attention.errors import DeviceError
from attention.implementations.batched import BatchedAttention

COMPILED_IN = (torch.float32, torch.bfloat16, torch.float16)
TRAINS_ON = ("cuda",)  # elsewhere PyTorch's FlexAttention has no backward pass

# Said once a process where it is not compiled, with an advice that does not apply there.
warnings.filterwarnings("ignore", message="flex_attention called without torch.compile")


class FlexAttention(BatchedAttention):
    """The batched projections with `flex_attention` between them; it keeps no pattern.

    Compiled at the first forward where PyTorch finds a compiler, which takes seconds, and again
    once when the length changes. Without a compiler, and in float64 on a CPU, the same function
    runs as PyTorch's plain operators: equal, and as slow as `batched`. Trained on CUDA only.

    Source: Dong et al. 2024, Flex Attention: A Programming Model for Generating Optimized
    Attention Kernels, section 3.
    """

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, None]:
        """See `BatchedAttention`; there is no pattern.

        Raises:
            DeviceError: when gradients are wanted on a device where there is no backward pass.
        """
        if q.requires_grad and q.device.type not in TRAINS_ON:
            raise DeviceError(
                f"flex must run without gradients on {q.device}; got some. PyTorch's "
                "FlexAttention has a backward pass on CUDA only: use sdpa to train here."
            )
        queries, keys = q.shape[2], k.shape[2]
        window = self.config.window_in(keys)
        sees_all = queries == 1 and window is None
        kernel = kernel_for(q.device.type, q.dtype, (q.shape[1], k.shape[1], q.shape[3]))
        z = kernel(
            q,
            k,
            v,
            score_mod=cap_rule(self.config.soft_cap),
            block_mask=None if sees_all else causal_blocks(queries, keys, q.device, window),
            scale=self.config.scale,
            enable_gqa=self.config.heads_per_kv > 1,
        )
        return z, None


def kernel_for(kind: str, dtype: torch.dtype, sizes: tuple[int, int, int]) -> Callable[..., Tensor]:
    """`flex_attention`, compiled where that can be done.

    Args:
        kind: of the device: cpu, cuda, mps.
        dtype: of q, k and v.
        sizes: heads, kv heads, head_dim; layers of the same sizes share a kernel.
    """
    narrow = kind != "cpu" or dtype in COMPILED_IN
    inside = torch.compiler.is_compiling()  # the layer is being compiled, and this with it
    if narrow and not inside and why_not_compiled(kind) is None:
        return compiled_for(kind, dtype, sizes)
    plain: Callable[..., Tensor] = flex_attention
    return plain


@cache
def compiled_for(
    kind: str, dtype: torch.dtype, sizes: tuple[int, int, int]
) -> Callable[..., Tensor]:
    """A kernel of its own for each; isolated, for after 8 the others would run uncompiled."""
    compiled: Callable[..., Tensor] = torch.compile(  # type: ignore[call-overload]
        flex_attention, isolate_recompiles=True
    )
    return compiled


@cache
def cap_rule(soft_cap: float | None) -> Callable[..., Tensor] | None:
    """The soft cap as a function on a score; the same each time, or torch compiles anew."""
    if soft_cap is None:
        return None
    return lambda score, batch, head, query, key: soft_cap * torch.tanh(score / soft_cap)


@torch.compiler.disable  # type: ignore[untyped-decorator]
def causal_blocks(
    queries: int, keys: int, device: torch.device, window: int | None = None
) -> BlockMask:
    """Which blocks of the pattern are empty, full or on the edge; the latest few are kept.

    The last query is at the last key; with a window it sees as many keys as that, its own too.
    """
    return _causal_blocks(queries, keys, device, window)


@lru_cache(maxsize=8)
def _causal_blocks(queries: int, keys: int, device: torch.device, window: int | None) -> BlockMask:
    with torch.inference_mode(mode=False):  # or training could not save it for backward
        before = torch.tensor(keys - queries, device=device)  # a number would be compiled in
        reach = torch.tensor(keys if window is None else window, device=device)
        # A lambda, for torch reads the signature, which a checker of shapes would hide.
        return create_block_mask(
            lambda batch, head, query, key: (
                (query + before >= key) & (query + before < key + reach)
            ),
            None,
            None,
            queries,
            keys,
            device=device,
        )
