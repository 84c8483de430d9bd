"""Cells of a head that looks at what came after an earlier copy of its token."""

from jaxtyping import Bool, Int
from torch import Tensor

from attention.scores.metric import far_keys


def induction(
    queries: Int[Tensor, " query"], ids: Int[Tensor, " key"]
) -> Bool[Tensor, "query key"]:
    """(i, j) where token j - 1 is the same as token i, and nothing simpler claims the cell.

    On BOS + R + R these are (i, i - length + 1).

    Source: Olsson et al. 2022, In-context Learning and Induction Heads.

    Example:
        Tokens `7 1 2 3 1 2 3` have the cells (4, 2), (5, 3) and (6, 4).
    """
    before = ids.roll(1)  # key 0 has nothing before it: far_keys leaves it out
    return (before == ids[queries][:, None]) & far_keys(queries, ids)
