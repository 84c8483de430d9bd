"""Thumbnails of a layer's heads while its patterns are read in blocks of rows."""

import numpy as np
import torch
from jaxtyping import Bool
from numpy.typing import NDArray
from torch import Tensor

from attention.capture.scan import NOTHING
from attention.layer_record import LayerRecord
from attention.pooling import down, squares
from attention.scores.blocks import RowBlock


class Thumbnails:
    """The largest weight of each square of cells, of the rows that were seen so far.

    Args:
        layer: whose heads.
        step: the side of a square.
        hide_first: whether the first token is left out, the rest of each row scaled to sum to 1.
    """

    def __init__(self, layer: LayerRecord, step: int, *, hide_first: bool = False) -> None:
        num_heads, seq_len, _ = layer.q.shape
        side = -(-seq_len // step)
        self.step, self.hide_first, self._window = step, hide_first, layer.rule.window
        self._cells = torch.full(
            (num_heads, side, side),
            NOTHING if hide_first else 0.0,
            dtype=torch.float32,
            device=layer.q.device,
        )

    def add(self, block: RowBlock) -> None:
        """Pool a block, whose weights are no longer needed."""
        shown = self._without_first(block) if self.hide_first else None
        found = squares(block.pattern, self.step).float()
        if shown is not None:
            found = found.masked_fill(~shown, NOTHING)
        top = (len(block.ids) - len(block.queries)) // self.step
        here = self._cells[:, top : top + found.shape[1], : found.shape[2]]
        torch.maximum(here, found, out=here)

    def take(self, squares: NDArray[np.float32]) -> None:
        """What was found in all rows at once, as `Scanner.squares`."""
        found = squares if self.hide_first else np.maximum(squares, 0)
        self._cells = torch.from_numpy(found)

    def _without_first(self, block: RowBlock) -> Bool[Tensor, "head row column"]:
        """Take the first token out of a block, and tell which squares show anything then."""
        block.pattern[..., 0] = 0
        rest = block.pattern.sum(dim=-1, keepdim=True)  # head query 1
        block.pattern.div_(rest.masked_fill(rest == 0, 1))
        first = (block.queries - (self._window or len(block.ids)) + 1).clamp(min=1)
        columns = torch.arange(-(-len(block.ids) // self.step), device=rest.device)
        reached = columns >= first[:, None] // self.step  # query column
        reached &= (columns <= block.queries[:, None] // self.step) & (block.queries > 0)[:, None]
        if not (rest[:, block.queries > 0] == 0).any():
            return down(reached[None], self.step)
        return down(reached & (rest != 0), self.step)

    def found(self) -> NDArray[np.float32]:
        """(head, side, side), float32; what shows nothing is 0, or NaN without the first token."""
        cells = self._cells
        if self.hide_first:
            cells = cells.masked_fill(cells < 0, torch.nan)
        found: NDArray[np.float32] = cells.cpu().numpy()
        return found
