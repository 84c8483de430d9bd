"""Cells of a head that looks at earlier copies of its own token."""

from jaxtyping import Bool, Int
from torch import Tensor

from attention.scores.metric import telling


def duplicate_token(
    queries: Int[Tensor, " query"], ids: Int[Tensor, " key"]
) -> Bool[Tensor, "query key"]:
    """(i, j) where token j is the same as token i, as far as such cells are telling.

    On BOS + R + R these are (i, i - length).

    Source: Wang et al. 2022, Interpretability in the Wild, section 3.
    """
    return telling(ids == ids[queries][:, None], queries, ids)
