"""Cells of a head that looks at its own token."""

from jaxtyping import Bool, Int
from torch import Tensor

from attention.scores.blocks import positions


def current_token(
    queries: Int[Tensor, " query"], ids: Int[Tensor, " key"]
) -> Bool[Tensor, "query key"]:
    """The diagonal, (i, i) of every row."""
    return positions(ids) == queries[:, None]
