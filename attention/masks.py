"""The causal mask, kept once a process for each window and grown to the longest sequence seen."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

# A square for each (window, device). Threads may share it: what two make at once is the same.
SQUARES: dict[tuple[int | None, torch.device], Tensor] = {}


class CausalMask(nn.Module):
    """Which keys each query may attend to: itself and everything before it, or a window of that.

    True means "may attend" (as in `scaled_dot_product_attention`). The square belongs to the
    process: as many layers as there are share one of each window.

    Args:
        window: how many tokens a query may attend to, its own the last; None for all.
    """

    def __init__(self, window: int | None = None) -> None:
        super().__init__()
        self.window = window

    def begin(self, device: str | torch.device) -> None:
        """Make what it keeps of its own, on a device: nothing."""

    def forward(self, seq_len: int, device: torch.device) -> Bool[Tensor, "query key"]:
        """The mask of a sequence.

        Args:
            seq_len: its length, tokens.
            device: where the scores are.

        Returns:
            True on and below the diagonal, as far as the window goes; not the caller's own.
        """
        if torch.compiler.is_compiling():  # into the kernel; a square that grows: compiled twice
            return band(seq_len, self.window, device)
        whole = self.window is None or self.window >= seq_len
        key = (None if whole else self.window, device)
        square = SQUARES.get(key)
        if square is None or square.shape[0] < seq_len:
            with torch.inference_mode(mode=False):  # or training could not save it for backward
                square = band(seq_len, key[0], device)
            if type(square) is Tensor:  # no tracer's, which others could not use
                SQUARES[key] = square
        return square[:seq_len, :seq_len]


def band(side: int, window: int | None, device: torch.device) -> Bool[Tensor, "query key"]:
    """True where a query may attend: on the diagonal and below it, at most `window` of them."""
    triangle = torch.ones(side, side, dtype=torch.bool, device=device).tril()
    return triangle if window is None or window >= side else triangle.triu(1 - window)


def reach(
    queries: Int[Tensor, " query"], keys: Int[Tensor, " key"], window: int | None
) -> Bool[Tensor, "query key"]:
    """A part of the mask: which of these positions the queries at those may attend to."""
    distance = queries[:, None] - keys
    behind = distance >= 0
    return behind if window is None else behind & (distance < window)
