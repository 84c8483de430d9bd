"""Adds up what metrics find in the blocks of a layer, into one score a head."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from attention.scores.blocks import RowBlock
from attention.scores.metric import Metric


class Tallies:
    """The sums of some metrics over the blocks that were seen so far.

    Args:
        metrics: what to measure, by name.
        num_heads: of how many heads.
    """

    def __init__(self, metrics: Mapping[str, Metric], num_heads: int) -> None:
        self._metrics = metrics
        self._totals = {name: np.zeros(num_heads) for name in metrics}
        self._counts = dict.fromkeys(metrics, 0)

    def add(self, block: RowBlock) -> None:
        """Measure a block; it stays as it is."""
        for name, metric in self._metrics.items():
            tally = metric.measure(block)
            self._totals[name] += tally.total.double().cpu().numpy()
            self._counts[name] += tally.count

    def scores(self) -> dict[str, NDArray[np.float64]]:
        """For each metric (num_heads,), 0 to 1; NaN where the text has nothing that it looks at."""
        return {
            name: total / self._counts[name] if self._counts[name] else np.full_like(total, np.nan)
            for name, total in self._totals.items()
        }
