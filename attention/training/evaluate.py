"""What the training watches: loss on held-out text, copying, and what the heads do.

The scores are means of pattern cells on ``<bos>`` + R + R, where R are random tokens:
previous-token (i, i - 1), first-token (i, 0), and over the second R duplicate-token
(i, i - length) and induction (i, i - length + 1).
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float32, Int64
from torch import Tensor
from torch.nn import functional

from attention.model import LanguageModel
from attention.training.tokenizer import BOS_ID

REPEAT_LENGTH = 50
REPEAT_ROWS = 8
REPEAT_SEED = 20
FIRST_PLAIN_ID = 257  # behind <bos> and the 256 single bytes
ROWS_AT_ONCE = 8

HeadTable = Float32[np.ndarray, "layers heads"]


@dataclass(frozen=True)
class Evaluation:
    """One look at a model.

    Args:
        loss: on held-out text, nats a token.
        copy_accuracy: share of the second R whose next token is guessed right.
        scores: for every measure, each head's score, 0 to 1.
    """

    loss: float
    copy_accuracy: float
    scores: dict[str, HeadTable]

    def best(self, measure: str) -> tuple[float, int, int]:
        """Return the highest score of a measure, with its layer and head."""
        table = self.scores[measure]
        layer, head = np.unravel_index(int(table.argmax()), table.shape)
        return float(table[layer, head]), int(layer), int(head)


def repeated_prompts(
    vocab_size: int, *, rows: int = REPEAT_ROWS, length: int = REPEAT_LENGTH
) -> list[list[int]]:
    """Give ``<bos>`` + R + R for each row, with R uniform over the tokens that are no bytes."""
    rng = np.random.default_rng(REPEAT_SEED)
    lowest = min(FIRST_PLAIN_ID, vocab_size // 2)
    prompts = []
    for _ in range(rows):
        tokens = rng.integers(lowest, vocab_size, length).tolist()
        prompts.append([BOS_ID, *tokens, *tokens])
    return prompts


def pattern_scores(pattern: Float32[np.ndarray, "query key"], length: int) -> dict[str, float]:
    """Score one head's pattern on ``<bos>`` + R + R, where R has ``length`` tokens.

    Example:
        A head that always looks one token back has a previous-token score of 1.
    """
    second = np.arange(length + 1, 2 * length + 1)
    behind = np.arange(1, 2 * length + 1)
    return {
        "previous": float(pattern[behind, behind - 1].mean()),
        "first": float(pattern[behind, 0].mean()),
        "duplicate": float(pattern[second, second - length].mean()),
        "induction": float(pattern[second, second - length + 1].mean()),
    }


def repeat_scores(
    model: LanguageModel, prompts: list[list[int]]
) -> tuple[dict[str, HeadTable], float]:
    """Score every head on repeated random tokens.

    Returns:
        The scores by measure, means over the prompts, and the copy accuracy.
    """
    sums: dict[str, HeadTable] = {}
    right = total = 0
    for prompt in prompts:
        length = (len(prompt) - 1) // 2
        record = model.run(prompt)
        for layer in range(record.num_layers):
            for head in range(record.num_heads):
                found = pattern_scores(record.pattern(layer, head), length)
                for measure, score in found.items():
                    table = sums.setdefault(
                        measure, np.zeros((record.num_layers, record.num_heads), np.float32)
                    )
                    table[layer, head] += score / len(prompts)
        guesses = record.logits[length + 1 : -1].argmax(-1).tolist()
        right += sum(a == b for a, b in zip(guesses, prompt[length + 2 :], strict=True))
        total += len(guesses)
    return sums, right / total


def held_out_loss(model: LanguageModel, windows: Int64[Tensor, "rows pos"]) -> float:
    """Return the mean loss over windows that start with ``<bos>``, nats a token."""
    total = 0.0
    with torch.inference_mode():
        for rows in windows.split(ROWS_AT_ONCE):
            logits = model(rows[:, :-1]).float()
            loss = functional.cross_entropy(
                logits.flatten(0, 1), rows[:, 1:].flatten(), reduction="sum"
            )
            total += float(loss)
    return total / windows[:, 1:].numel()


def evaluate(model: LanguageModel, windows: Int64[Tensor, "rows pos"]) -> Evaluation:
    """Look at the model in evaluation mode, then put its mode back."""
    training = model.training
    model.eval()
    length = min(REPEAT_LENGTH, (model.config.context_length - 1) // 2)
    scores, accuracy = repeat_scores(
        model, repeated_prompts(model.config.vocab_size, length=length)
    )
    loss = held_out_loss(model, windows)
    model.train(training)
    return Evaluation(loss=loss, copy_accuracy=accuracy, scores=scores)
