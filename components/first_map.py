"""The first picture before torch is there: the default text's patterns, worked out beforehand.

`python -m components.first_map` writes it again after the embedded model has changed; a map of
another model is not used.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from attention.tokens import Tokens
from components.looks import pooled
from components.state import ENTRIES

ASSETS = Path(__file__).parents[1] / "assets"
FILE = ASSETS / "first_map.npz"
MODEL = ASSETS / "model" / "model.safetensors"


class Habit(Protocol):
    """What a head mostly does: `attention.scores.HeadLabel`, or ours from the file."""

    @property
    def metric(self) -> str:
        """The metric's name."""

    @property
    def label(self) -> str:
        """The short tag."""

    @property
    def value(self) -> float:
        """The score, 0 to 1."""


Habits = Sequence[Sequence[Habit | None]]  # [layer][head]


@dataclass(frozen=True)
class StoredHabit:
    """What a head mostly does, as the file holds it."""

    metric: str
    label: str
    value: float


@dataclass(frozen=True, eq=False)
class FirstMap:
    """A run without its model: what the pictures need of a record.

    Attributes:
        tokens: of the default text.
        patterns: (layer, head, query, key).
        habits: [layer][head].
    """

    tokens: Tokens
    patterns: NDArray[np.float32]
    habits: Habits

    @property
    def num_layers(self) -> int:
        """Layers of the model."""
        return int(self.patterns.shape[0])

    @property
    def num_heads(self) -> int:
        """Heads in each layer."""
        return int(self.patterns.shape[1])

    @property
    def seq_len(self) -> int:
        """Tokens."""
        return int(self.patterns.shape[2])

    def window(self, _layer: int) -> None:
        """As `RunRecord.window`; the embedded model has none."""

    def pattern(self, layer: int, head: int) -> NDArray[np.float32]:
        """As `RunRecord.pattern`."""
        pattern: NDArray[np.float32] = self.patterns[layer, head]
        return pattern

    def pooled_layer(self, layer: int, size: int) -> NDArray[np.float32]:
        """As `RunRecord.pooled_layer`."""
        return np.stack([pooled(pattern, size) for pattern in self.patterns[layer]])


@lru_cache(maxsize=1)
def load() -> FirstMap | None:
    """The map, or None where there is none of this model and text."""
    try:
        with np.load(FILE) as stored:
            facts = json.loads(str(stored["facts"]))
            patterns = stored["patterns"]
        if facts["model"] != fingerprint() or facts["text"] != ENTRIES["text"].default:
            return None
    except (OSError, KeyError, ValueError):
        return None
    spans = tuple((int(start), int(stop)) for start, stop in facts["offsets"])
    tokens = Tokens(facts["text"], tuple(facts["ids"]), tuple(facts["labels"]), spans)
    habits = [[h and StoredHabit(*h) for h in layer] for layer in facts["habits"]]
    return FirstMap(tokens, patterns, habits)


def fingerprint() -> str:
    """Of the embedded model's weights."""
    return hashlib.sha256(MODEL.read_bytes()).hexdigest()


def write() -> None:
    """Run the default text and keep what the pictures need."""
    from attention.loading import load_model
    from attention.scores import head_scores, label_heads

    text = str(ENTRIES["text"].default)
    record = load_model().run(text, implementation="batched")
    tokens = record.tokens
    labels = label_heads(head_scores(record))
    facts = {
        "model": fingerprint(),
        "text": text,
        "ids": tokens.ids,
        "labels": tokens.labels,
        "offsets": tokens.offsets,
        "habits": [[h and (h.metric, h.label, h.value) for h in layer] for layer in labels],
    }
    patterns = np.stack([record.layer_pattern(layer) for layer in range(record.num_layers)])
    np.savez_compressed(FILE, patterns=patterns, facts=json.dumps(facts))


if __name__ == "__main__":
    write()
