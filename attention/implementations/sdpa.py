"""PyTorch's own fused kernel: the fastest forward pass, and no pattern to show."""

from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attention.implementations.batched import BatchedAttention


class SdpaAttention(BatchedAttention):
    """The batched projections with `scaled_dot_product_attention` between them.

    The kernel never holds the pattern; `RunRecord.pattern` recomputes it from q and k.
    """

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, None]:
        """See `BatchedAttention`; there is no pattern."""
        z = scaled_dot_product_attention(
            q,
            k,
            v,
            dropout_p=self.config.dropout if self.training else 0.0,  # it ignores eval()
            is_causal=True,
            enable_gqa=self.config.heads_per_kv > 1,
        )
        return z, None
