"""Which of many checkpoints of a training to keep: dense where its heads change."""

import numpy as np
from jaxtyping import Float

from attention.history import History

FIRST_TOKENS = 20_000  # the log of tokens begins here, so that the very start is not all there is
GROWING = ("induction", "previous_token")


def choose_looks(history: History, most: int) -> tuple[int, ...]:
    """Choose looks that are evenly far from each other, the first and the last among them.

    How far a look is, is the mean of three shares of their final value: the log of the tokens,
    and the best induction and the best previous-token score so far. So the long plateaus get
    few, the stretch in which the heads form many.

    Args:
        history: all looks.
        most: how many are wanted; fewer where there are no more looks.

    Returns:
        Their indices, in order.
    """
    count = len(history.looks)
    if count <= most:
        return tuple(range(count))
    far = distance(history)
    chosen: list[int] = []
    for place, mark in enumerate(np.linspace(0, far[-1], most)):
        first = chosen[-1] + 1 if chosen else 0
        free = np.arange(first, count - (most - 1 - place))  # the later marks need looks too
        chosen.append(int(free[np.abs(far[free] - mark).argmin()]))
    chosen[-1] = count - 1
    return tuple(chosen)


def distance(history: History) -> Float[np.ndarray, " look"]:
    """How far each look is from the first, 0 to 1; never falls."""
    logs = np.log(1 + history.tokens / FIRST_TOKENS)
    grown = [np.maximum.accumulate(history.best(metric)) for metric in GROWING]
    shares = [(part - part[0]) / max(part[-1] - part[0], 1e-9) for part in (logs, *grown)]
    mean: Float[np.ndarray, " look"] = np.mean(shares, axis=0)
    return mean
