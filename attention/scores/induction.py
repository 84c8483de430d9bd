"""Cells of a head that looks at what came after an earlier copy of its token."""

from jaxtyping import Bool, Int
from torch import Tensor

from attention.scores.metric import telling


def induction(
    queries: Int[Tensor, " query"], ids: Int[Tensor, " key"]
) -> Bool[Tensor, "query key"]:
    """(i, j) where token j - 1 is the same as token i, as far as such cells are telling.

    On BOS + R + R these are (i, i - length + 1).

    Source: Olsson et al. 2022, In-context Learning and Induction Heads.

    Example:
        Tokens `7 1 2 3 1 2 3` have the cells (4, 2), (5, 3) and (6, 4).
    """
    before = ids.roll(1)  # key 0 has nothing before it: `telling` leaves it out
    return telling(before == ids[queries][:, None], queries, ids)
