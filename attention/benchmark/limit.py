"""The limit to hold an implementation against: plain matrix products of the layer's own shapes.

They run in the same turns as the implementations, so that whatever slows these down slows the
products down too.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median

import torch

from attention.benchmark.work import Sizes, Work, work
from attention.implementations import IMPLEMENTATIONS

PROJECTIONS, ATTENTION = "plain products: projections", "plain products: attention"
PLAIN = IMPLEMENTATIONS[
    "fused"
]  # what the plain products multiply: every cell, one product for qkv
LEAST = IMPLEMENTATIONS["sdpa"]  # no cell above the diagonal


@dataclass(frozen=True)
class Limit:
    """How long plain products took at one head count.

    Attributes:
        projections: ms, all samples of x times W_qkv and z times W_O.
        attention: ms, all samples of q times k and pattern times v, every cell of T x T.
    """

    projections: tuple[float, ...]
    attention: tuple[float, ...]

    def milliseconds(self, asked: Work, sizes: Sizes) -> float:
        """How long plain products of these shapes take for so many FLOPs.

        Args:
            asked: whose FLOPs.
            sizes: of the layer.

        Returns:
            the medians, each in proportion to the FLOPs of its part. Gradients are products of
            the same size, and counted as if they ran at the same rate.
        """
        whole = replace(work(sizes, PLAIN), products=1)  # they are timed without gradients
        projections = median(self.projections) * asked.projection_flops / whole.projection_flops
        attention = median(self.attention) * asked.attention_flops / whole.attention_flops
        return projections + attention

    def least(self, sizes: Sizes) -> float:
        """The same for the FLOPs that no causal layer can do without, ms."""
        return self.milliseconds(work(sizes, LEAST), sizes)


@torch.inference_mode()
def plain_products(
    sizes: Sizes, device: torch.device, dtype: torch.dtype
) -> dict[str, Callable[[], object]]:
    """Calls that multiply matrices of the layer's shapes into memory that is there already.

    Args:
        sizes: of the layer.
        device: where.
        dtype: in what.
    """
    c, rows = sizes.config, sizes.rows
    heads = sizes.batch * c.num_heads  # of all sequences
    queries, keys = sizes.positions.queries.value, sizes.positions.keys.value

    def numbers(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, device=device, dtype=dtype)

    columns = (c.num_heads + 2 * c.num_kv_heads) * c.head_dim
    x, W_qkv, qkv = numbers(rows, c.d_in), numbers(columns, c.d_in), numbers(rows, columns)
    z, W_O, out = numbers(rows, c.d_out), numbers(c.d_model, c.d_out), numbers(rows, c.d_model)
    q, mixed = (numbers(heads, queries, c.head_dim) for _ in range(2))
    k, v = (numbers(heads, keys, c.head_dim) for _ in range(2))
    square = torch.empty(heads, queries, keys, device=device, dtype=dtype)

    def projections() -> None:
        torch.mm(x, W_qkv.t(), out=qkv)
        if c.out_proj:
            torch.mm(z, W_O.t(), out=out)

    def attention() -> None:
        torch.bmm(q, k.transpose(1, 2), out=square)
        torch.bmm(square, v, out=mixed)

    return {PROJECTIONS: projections, ATTENTION: attention}
