"""What a training looked like from the inside: losses and every head's scores, look by look."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from attention.errors import ModelError
from attention.scores import HEAD_METRICS, HeadTable

FORMAT = 1
DIGITS = 4  # after the point, in the file
LOSSES = ("train_loss", "held_out_loss", "first_copy_loss", "second_copy_loss")
BEGINS, ENDS = 0.1, 0.8  # shares of the final induction score between which heads form


@dataclass(frozen=True)
class Look:
    """One look at a model in training. Losses are nats a token.

    Attributes:
        step: optimizer steps before it.
        tokens: tokens trained on before it.
        stage: the stage of the recipe.
        train_loss: mean over the steps since the look before; NaN before the first step.
        held_out_loss: on text that the training never sees.
        first_copy_loss: on random tokens that come for the first time.
        second_copy_loss: on the same tokens when they come again, from the second on.
        scores: for each key of HEAD_METRICS the heads' scores on repeated random tokens.
    """

    step: int
    tokens: int
    stage: str
    train_loss: float
    held_out_loss: float
    first_copy_loss: float
    second_copy_loss: float
    scores: Mapping[str, HeadTable]

    @property
    def saved(self) -> float:
        """What having seen a token's run before saves: the in-context score, nats a token."""
        return self.first_copy_loss - self.second_copy_loss

    def best(self, metric: str) -> tuple[float, int, int]:
        """The highest score of a metric, with its layer and head."""
        table = self.scores[metric]
        layer, head = np.unravel_index(int(table.argmax()), table.shape)
        return float(table[layer, head]), int(layer), int(head)


@dataclass(frozen=True)
class Bump:
    """The stretch of a training in which its induction heads form, in tokens."""

    start: int
    end: int


@dataclass(frozen=True)
class History:
    """All looks at one training, in its order."""

    looks: tuple[Look, ...]

    @cached_property
    def tokens(self) -> NDArray[np.int64]:
        """Tokens trained on at each look."""
        return np.array([look.tokens for look in self.looks])

    def losses(self, name: str) -> Float[np.ndarray, " look"]:
        """One of LOSSES at each look."""
        return np.array([getattr(look, name) for look in self.looks], dtype=np.float64)

    def scores(self, metric: str) -> Float[np.ndarray, "look layer head"]:
        """One metric of every head at each look."""
        return np.stack([look.scores[metric] for look in self.looks])

    def best(self, metric: str) -> Float[np.ndarray, " look"]:
        """The best head's score at each look."""
        best: NDArray[np.float64] = self.scores(metric).max(axis=(1, 2))
        return best

    @property
    def bump(self) -> Bump:
        """From where the best induction score first reaches 10% of its final value to 80%."""
        found = self.best("induction")
        start, end = (int(np.argmax(found >= share * found[-1])) for share in (BEGINS, ENDS))
        return Bump(int(self.tokens[start]), int(self.tokens[end]))

    def formed(self, metric: str, layer: int, head: int) -> int | None:
        """Tokens from which a head's score stays at what earns the label, or None if never."""
        low = self.scores(metric)[:, layer, head] < HEAD_METRICS[metric].threshold
        if low[-1]:
            return None
        last = int(np.flatnonzero(low)[-1]) if low.any() else -1
        return int(self.tokens[last + 1])


def history_as_text(history: History, checkpoints: Sequence[int] = ()) -> str:
    """A history as JSON, a column for each number.

    Args:
        history: what to write.
        checkpoints: which looks the shipped checkpoints belong to.
    """
    looks = history.looks
    columns = {
        name: [None if math.isnan(x) else round(x, DIGITS) for x in history.losses(name).tolist()]
        for name in LOSSES
    }
    scores = {name: history.scores(name).round(DIGITS).tolist() for name in HEAD_METRICS}
    written = {
        "format": FORMAT,
        "checkpoints": list(checkpoints),
        "step": [look.step for look in looks],
        "tokens": [look.tokens for look in looks],
        "stage": [look.stage for look in looks],
        **columns,
        "scores": scores,
    }
    dense = (",", ":")
    lines = [f'"{key}":{json.dumps(value, separators=dense)}' for key, value in written.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def read_history(path: Path) -> tuple[History, tuple[int, ...]]:
    """A history from its file, with the looks that have a checkpoint.

    Raises:
        ModelError: when the file is missing or is no history.
    """
    try:
        stored: Any = json.loads(path.read_text(encoding="utf-8"))
        if stored["format"] != FORMAT:
            raise ValueError(f"format {stored['format']!r}")
        checkpoints = tuple(int(i) for i in stored["checkpoints"])
        looks = tuple(_look(stored, at) for at in range(len(stored["tokens"])))
        for at in checkpoints:
            looks[at]
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise ModelError(
            f"{path} must be the history of a training; it cannot be read: {error!r}. "
            "Make it anew with `python -m attention forming`."
        ) from error
    return History(looks), checkpoints


def _look(stored: Mapping[str, Any], at: int) -> Look:
    losses = {name: stored[name][at] for name in LOSSES}
    return Look(
        step=int(stored["step"][at]),
        tokens=int(stored["tokens"][at]),
        stage=str(stored["stage"][at]),
        **{name: math.nan if value is None else float(value) for name, value in losses.items()},
        scores={name: np.array(stored["scores"][name][at]) for name in HEAD_METRICS},
    )
