"""One sentence under each picture, worked out from what the picture shows."""

from collections.abc import Sequence

import numpy as np

from components.explanations import EXPLANATIONS
from components.first_map import Habit
from components.looks import Weights


def percent(share: float) -> str:
    """A share in percent, two figures: 91%, 0.4%."""
    value = 100 * share
    return f"{value:.0f}%" if value >= 1 or value == 0 else f"{value:.1g}%"


def tag(label: Habit | None) -> str:
    """What is written under a head in the grid: "previous token .91"."""
    return "" if label is None else f"{label.label} {short(label.value)}"


def short(value: float) -> str:
    """A score with two digits and no leading zero: .91, 1.0."""
    return "1.0" if value >= 0.995 else f"{value:.2f}".removeprefix("0")


def of_head(layer: int, head: int, label: Habit | None, pattern: Weights) -> str:
    """What to read off one head's picture.

    Args:
        layer: which layer.
        head: which head.
        label: what it mostly does on this text.
        pattern: as shown, NaN where nothing is drawn.
    """
    name = f"Head {layer}.{head}"
    if label is not None:
        known = EXPLANATIONS.get(label.metric)
        habit = f"scores {{}} as {label.label}" if known is None else known.habit
        return f"{name} {habit.format(percent(label.value))}."
    rows = pattern[~np.isnan(pattern).all(axis=1)]
    if not len(rows):
        return f"{name} has no weight besides the first token's."
    strongest = float(np.nanmax(rows, axis=1).mean())
    return (
        f"{name} has no one habit on this text: its strongest key gets {percent(strongest)} of a "
        "row on average."
    )


def of_query(row: Weights, labels: Sequence[str], query: int, *, most: int = 3) -> str:
    """What the chosen token looks at, the strongest first."""
    weights = np.nan_to_num(row)
    order = [int(key) for key in np.argsort(-weights, kind="stable")[:most] if weights[key] > 0]
    if not order:
        return (
            f"“{labels[query]}” (token {query}) has nothing to look at but the hidden first token."
        )
    found = ", ".join(f"“{labels[key]}” ({key}) {percent(float(weights[key]))}" for key in order)
    return f"“{labels[query]}” (token {query}) looks most at {found}."


def of_layer(layer: int, labels: Sequence[Habit | None]) -> str:
    """What to read off the grid: the head whose habit is the clearest."""
    named = [(label.value, head, label) for head, label in enumerate(labels) if label is not None]
    if not named:
        return f"No head of layer {layer} has one clear habit on this text."
    _, head, _ = max(named, key=lambda entry: entry[0])
    count = f"{len(named)} of {len(labels)} heads have a clear habit"
    return f"Layer {layer}: {count}, most of all head {layer}.{head}."
