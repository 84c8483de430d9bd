"""The causal mask, kept once a layer and grown to the longest sequence seen."""

import torch
from jaxtyping import Bool
from torch import Tensor, nn


class CausalMask(nn.Module):
    """Which keys each query may attend to: itself and everything before it, or a window of that.

    True means "may attend" (as in `scaled_dot_product_attention`). The square is a buffer,
    so it follows `.to(device)`; it is not saved, because it holds nothing learned.

    Args:
        window: how many tokens a query may attend to, its own the last; None for all.
    """

    allowed: Tensor

    def __init__(self, window: int | None = None) -> None:
        super().__init__()
        self.window = window
        self.register_buffer("allowed", self.begin(), persistent=False)

    def begin(self, device: str | torch.device | None = None) -> Tensor:
        """The square before the first sequence: nothing."""
        return torch.ones(0, 0, dtype=torch.bool, device=device)

    def forward(self, seq_len: int, device: torch.device) -> Bool[Tensor, "query key"]:
        """The mask of a sequence.

        Args:
            seq_len: its length, tokens.
            device: where the scores are.

        Returns:
            True on and below the diagonal, as far as the window goes.
        """
        if torch.compiler.is_compiling():  # into the kernel; a square that grows: compiled twice
            return band(seq_len, self.window, device)
        allowed = self.allowed
        if allowed.shape[0] < seq_len or allowed.device != device:
            with torch.inference_mode(mode=False):  # or training could not save it for backward
                allowed = band(max(seq_len, allowed.shape[0]), self.window, device)
            self.allowed = allowed
        return allowed[:seq_len, :seq_len]


def band(side: int, window: int | None, device: torch.device) -> Bool[Tensor, "query key"]:
    """True where a query may attend: on the diagonal and below it, at most `window` of them."""
    triangle = torch.ones(side, side, dtype=torch.bool, device=device).tril()
    return triangle if window is None or window >= side else triangle.triu(1 - window)
