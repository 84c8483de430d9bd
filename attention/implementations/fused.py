"""One projection for q, k and v together, then all heads at once."""

from torch import Tensor, nn

from attention.implementations.batched import BatchedAttention


class FusedAttention(BatchedAttention):
    """As batched, but x is multiplied once by a matrix of all q, k and v rows.

    Source: GPT-2's and nanoGPT's `c_attn`.
    """

    layout = "fused"

    def _add_projections(self, q_width: int, kv_width: int) -> None:
        self.widths = [q_width, kv_width, kv_width]
        self.W_qkv = nn.Linear(self.config.d_in, sum(self.widths), bias=self.config.qkv_bias)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """See `BatchedAttention`."""
        q, k, v = self.W_qkv(x).split(self.widths, dim=-1)
        return q, k, v
