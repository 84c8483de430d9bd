"""The loop over single heads that each call PyTorch's fused kernel."""

from torch import Tensor

from attention.implementations.base import AttentionModule
from attention.implementations.looped import CausalSelfAttention, MultiHeadAttentionWrapper
from attention.implementations.sdpa import causal_kernel


class SdpaHead(CausalSelfAttention):
    """One head that leaves scores, mask, softmax and mix to `scaled_dot_product_attention`."""

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, layer: AttentionModule
    ) -> tuple[Tensor, None]:
        """See `CausalSelfAttention`; there is no pattern.

        The kernel gets a head axis of length 1: with three axes PyTorch takes its slow path
        ("math"), which computes every score before the mask.
        """
        z = causal_kernel(q.unsqueeze(1), k.unsqueeze(1), v.unsqueeze(1), layer)
        return z.squeeze(1), None


class SdpaWrapper(MultiHeadAttentionWrapper):
    """The loop with the kernel in each head: what it takes beyond `sdpa` is the loop's own cost.

    It keeps no pattern, as `sdpa` does not.
    """

    head = SdpaHead
