"""Cells of a head that looks at the token before its own."""

from jaxtyping import Bool, Int
from torch import Tensor

from attention.scores.blocks import positions


def previous_token(
    queries: Int[Tensor, " query"], ids: Int[Tensor, " key"]
) -> Bool[Tensor, "query key"]:
    """(i, i - 1) of every row but the first, which has no previous token."""
    return positions(ids) == queries[:, None] - 1
