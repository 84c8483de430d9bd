"""A text through every checkpoint of a training: what there is to see while heads form."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from components.first_map import Habits
from components.looks import Look, Weights, only_seen, pooled, without_first

if TYPE_CHECKING:
    from attention.formation import Formation
    from attention.tokens import Tokens

MOST_TOKENS = 96  # all patterns of all checkpoints go to the browser at once
STEPS = 65_535  # a weight of 1 in the bytes that go there


@dataclass(frozen=True, eq=False)
class Film:
    """One text at every checkpoint.

    Attributes:
        formation: the training.
        tokens: those that were run.
        total: how many tokens the text has.
        patterns: (checkpoint, layer, head, query, key).
        habits: for each checkpoint what each head mostly does on this text, [layer][head].
    """

    formation: "Formation"
    tokens: "Tokens"
    total: int
    patterns: Weights
    habits: Sequence[Habits]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Checkpoints, layers, heads of a layer."""
        checkpoints, layers, heads, _, _ = self.patterns.shape
        return checkpoints, layers, heads

    def thumbnails(self, checkpoint: int, size: int, look: Look) -> Weights:
        """All heads at one checkpoint, the layers one after the other: (head, side, side)."""
        shown = self.shown(checkpoint, look)
        return np.stack([pooled(pattern, size) for layer in shown for pattern in layer])

    def shown(self, checkpoint: int, look: Look) -> Weights:
        """Patterns of all heads at one checkpoint as they are shown, NaN where nothing is."""
        patterns = self.patterns[checkpoint]
        return only_seen(without_first(patterns) if look.hide_first else patterns)

    @cached_property
    def packed(self) -> bytes:
        """All weights that a query can look at, as 16-bit steps of 1 / STEPS, row by row."""
        rows, keys = np.tril_indices(self.patterns.shape[-1])
        steps: NDArray[np.uint16] = np.round(self.patterns[..., rows, keys] * STEPS).astype("<u2")
        return steps.tobytes()


def make_film(formation: "Formation", text: str) -> Film:
    """Run a text through every checkpoint; of a long one its first MOST_TOKENS tokens.

    Raises:
        TextError: when the text cannot be read.
        ModelError: when a checkpoint cannot be used.
    """
    from attention.scores import head_scores, label_heads

    reader = formation.model(0)
    assert reader.tokenizer is not None  # a formation has one
    read = reader.tokenizer.encode(text)
    tokens = read.first(MOST_TOKENS)
    patterns, habits = [], []
    for index in range(len(formation)):
        record = formation.model(index).run(tokens)
        layers = range(record.num_layers)
        patterns.append(np.stack([record.layer_pattern(layer) for layer in layers]))
        habits.append(label_heads(head_scores(record)))
    return Film(formation, tokens, len(read), np.stack(patterns), habits)
