"""Cells of a head that looks at earlier copies of its own token."""

from jaxtyping import Bool, Int
from torch import Tensor

from attention.scores.metric import far_keys


def duplicate_token(
    queries: Int[Tensor, " query"], ids: Int[Tensor, " key"]
) -> Bool[Tensor, "query key"]:
    """(i, j) where token j is the same as token i, and nothing simpler claims the cell.

    On BOS + R + R these are (i, i - length).

    Source: Wang et al. 2022, Interpretability in the Wild, section 3.
    """
    return (ids == ids[queries][:, None]) & far_keys(queries, ids)
