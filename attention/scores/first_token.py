"""Cells of a head that rests on the first token (an "attention sink")."""

from jaxtyping import Bool, Int
from torch import Tensor

from attention.scores.blocks import positions


def first_token(
    queries: Int[Tensor, " query"], ids: Int[Tensor, " key"]
) -> Bool[Tensor, "query key"]:
    """(i, 0) of every row but the first, which can look nowhere else.

    Source: Xiao et al. 2023, Efficient Streaming Language Models with Attention Sinks.
    """
    return (positions(ids) == 0) & (queries > 0)[:, None]
