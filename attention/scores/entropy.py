"""How widely a head spreads its attention."""

import torch
from torch import Tensor

from attention.capture import POOL
from attention.scores.blocks import RowBlock
from attention.scores.metric import Tally


def normalised_entropy(block: RowBlock) -> Tally:
    """The entropy of each row over the entropy of a uniform row of that length, log(i + 1).

    0 is all on one token, 1 is uniform over every token that may be seen. Row 0 is left out:
    with one key it has no choice.
    """
    later, weights = block.queries > 0, block.pattern
    least = torch.finfo(weights.dtype).tiny  # has a logarithm, whose product with 0 is 0
    logs = torch.clamp(weights, min=least, out=_room(weights)).log_()
    entropy = logs.mul_(weights).sum(dim=-1).neg_()  # head query
    most = (block.queries[later] + 1).to(entropy.dtype).log()
    return Tally((entropy[:, later] / most).sum(dim=-1), int(later.sum()))


def _room(like: Tensor) -> Tensor:
    """Memory for as many numbers; new pages cost about as much as a logarithm of all."""
    if like.device.type != "cpu":
        return torch.empty_like(like)
    return POOL.take(tuple(like.shape), like.dtype)
