"""How widely a head spreads its attention."""

import torch

from attention.scores.blocks import RowBlock
from attention.scores.metric import Tally


def normalised_entropy(block: RowBlock) -> Tally:
    """The entropy of each row over the entropy of a uniform row of that length, log(i + 1).

    0 is all on one token, 1 is uniform over every token that may be seen. Row 0 is left out:
    with one key it has no choice.
    """
    later = block.queries > 0
    rows = block.pattern[:, later]  # head query key
    most = (block.queries[later] + 1).to(rows.dtype).log()
    total = (torch.special.entr(rows).sum(dim=-1) / most).sum(dim=-1)
    return Tally(total, int(later.sum()))
