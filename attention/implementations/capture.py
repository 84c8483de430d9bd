"""Our fastest exact one that returns all heads' patterns: only the lower triangle is computed."""

import torch
from torch import Tensor

from attention import capture
from attention.implementations.fused import FusedAttention


class CaptureAttention(FusedAttention):
    """One projection, then blocks of rows with only the keys that they may see.

    Each row's softmax is done in place over exactly its own keys, and the pattern is written once:
    about the work of an attention that has no pattern. A small core in C does it where a compiler
    is found, row blocks in torch elsewhere; `attention.capture.capture_core()` says which. With
    gradients, in training, under autocast, with a soft cap, where a window leaves keys out, or on
    another device than the CPU it computes as `fused`.
    """

    def mix(
        self, q: Tensor, k: Tensor, v: Tensor, need_pattern: bool
    ) -> tuple[Tensor, Tensor | None]:
        """See `BatchedAttention`; the pattern is not even written where nobody asks for it."""
        if self._needs_the_plain_way(q, k.shape[2]):
            return self.attend(q, k, v)
        return capture.attend(q, k, v, scale=self.config.scale, need_pattern=need_pattern)

    def _needs_the_plain_way(self, q: Tensor, keys: int) -> bool:
        return (
            torch.is_grad_enabled()
            or self.config.soft_cap is not None
            or self.config.window_in(keys) is not None
            or (self.training and self.config.dropout > 0)
            or q.device.type != "cpu"
            or q.numel() == 0
            or type(q) is not Tensor  # a tracer's or a subclass's
            or torch.is_autocast_enabled("cpu")
            or torch.compiler.is_compiling()
        )
