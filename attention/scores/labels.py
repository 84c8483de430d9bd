"""Gives each head the name of what it mostly does, if it does anything clearly."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attention.scores.metric import Metric


@dataclass(frozen=True)
class HeadLabel:
    """What a head mostly does on a text.

    Attributes:
        metric: the name of the metric that says so.
        label: the short tag, such as "previous token".
        value: the score, 0 to 1.
    """

    metric: str
    label: str
    value: float


def best_label(
    metrics: Mapping[str, Metric], scores: Mapping[str, NDArray[np.float64]], layer: int, head: int
) -> HeadLabel | None:
    """The label of one head: see `label_heads`."""
    if "entropy" in scores and np.isnan(scores["entropy"][layer, head]):
        return None  # a single token, which can only attend to itself
    found = [
        HeadLabel(name, metric.label, float(scores[name][layer, head]))
        for name, metric in metrics.items()
        if name in scores and scores[name][layer, head] >= metric.threshold  # False for NaN
    ]
    broad = [label for label in found if label.metric == "entropy"]
    active = [label for label in found if not metrics[label.metric].is_rest]
    return max(broad or active or found, key=lambda label: label.value, default=None)
