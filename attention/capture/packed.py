"""All heads' patterns without the half that is 0: block by block, as the torch core makes them."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class PackedPattern:
    """Half the memory of the square, and nothing copied: the square is made for what is shown.

    Attributes:
        blocks: rows in order, each (batch, head, query, key) with the keys up to its last row's
            own; the caller's own.
    """

    blocks: tuple[Tensor, ...]

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(block.nbytes for block in self.blocks)

    def dense(self) -> Float[Tensor, "batch head query key"]:
        """The whole square of every head; later keys are exactly 0."""
        return self._square(slice(None))

    def head(self, head: int) -> Float[Tensor, "batch query key"]:
        """The square of one head."""
        return self._square(slice(head, head + 1))[:, 0]

    def _square(self, heads: slice) -> Tensor:
        chosen = [block[:, heads] for block in self.blocks]
        batch, count, _, keys = chosen[-1].shape
        square = chosen[-1].new_zeros(batch, count, sum(b.shape[2] for b in chosen), keys)
        first = 0
        for block in chosen:
            last = first + block.shape[2]
            square[:, :, first:last, : block.shape[3]] = block
            first = last
        return square
