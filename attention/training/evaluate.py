"""What the training watches: loss on held-out text, copying, and what the heads do."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor
from torch.nn import functional

from attention.model import LanguageModel
from attention.scores import HeadTable, head_scores, repeated_tokens

PROBES = 8
FIRST_PROBE = 20  # seed; not the one of `probe_scores`
ROWS_AT_ONCE = 8


@dataclass(frozen=True)
class Evaluation:
    """One look at a model.

    Args:
        loss: on held-out text, nats a token.
        copy_accuracy: share of repeated tokens that are guessed right.
        scores: for every head metric, each head's score on repeated random tokens, 0 to 1.
    """

    loss: float
    copy_accuracy: float
    scores: dict[str, HeadTable]

    def best(self, metric: str) -> tuple[float, int, int]:
        """Return the highest score of a metric, with its layer and head."""
        return best_head(self.scores[metric])


def best_head(table: HeadTable) -> tuple[float, int, int]:
    """Return a table's highest score, with its layer and head."""
    layer, head = np.unravel_index(int(table.argmax()), table.shape)
    return float(table[layer, head]), int(layer), int(head)


def repeat_scores(model: LanguageModel, probes: int = PROBES) -> tuple[dict[str, HeadTable], float]:
    """Run the model on ``<bos>`` + R + R for several random R.

    Returns:
        The means of the heads' scores, and the share of tokens of the second R, from its
        second on, that are guessed right.
    """
    found: list[dict[str, HeadTable]] = []
    right: list[bool] = []
    for seed in range(FIRST_PROBE, FIRST_PROBE + probes):
        ids = repeated_tokens(model.config, seed=seed)
        record = model.run(ids)
        found.append(head_scores(record))
        known = slice((len(ids) + 1) // 2, -1)  # these positions' next tokens can be known
        guesses = record.logits[known].argmax(-1).tolist()
        right += [
            guess == token for guess, token in zip(guesses, ids[known.start + 1 :], strict=True)
        ]
    means = {name: np.mean([scores[name] for scores in found], axis=0) for name in found[0]}
    return means, float(np.mean(right))


def text_scores(model: LanguageModel, texts: Iterable[str]) -> dict[str, HeadTable]:
    """Return the means of the heads' scores over texts.

    A text that says nothing of a score, as one without repeats of induction, is left out of its
    mean; 0 where all are. A text is cut where the model's context ends.
    """
    tokenizer, room = model.tokenizer, model.config.context_length
    assert tokenizer is not None  # a model that reads text has one
    found = [head_scores(model.run(tokenizer.encode(text).ids[:room])) for text in texts]
    return {
        name: np.ma.masked_invalid([scores[name] for scores in found]).mean(axis=0).filled(0.0)
        for name in found[0]
    }


def held_out_loss(model: LanguageModel, windows: Int64[Tensor, "rows pos"]) -> float:
    """Return the mean loss over windows that start with ``<bos>``, nats a token."""
    total = 0.0
    with torch.inference_mode():
        for rows in windows.split(ROWS_AT_ONCE):
            logits = model(rows[:, :-1]).float()
            targets = rows[:, 1:].flatten()
            total += float(functional.cross_entropy(logits.flatten(0, 1), targets, reduction="sum"))
    return total / windows[:, 1:].numel()


def evaluate(model: LanguageModel, windows: Int64[Tensor, "rows pos"]) -> Evaluation:
    """Look at the model in evaluation mode, then put its mode back."""
    training = model.training
    model.eval()
    scores, accuracy = repeat_scores(model)
    loss = held_out_loss(model, windows)
    model.train(training)
    return Evaluation(loss=loss, copy_accuracy=accuracy, scores=scores)
