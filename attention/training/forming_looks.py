"""Training under watch: at every look all that the history tells, and the weights besides."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from attention.families import attention_only
from attention.formation import checkpoint_file
from attention.history import History, Look, history_as_text, read_history
from attention.loading import save_model
from attention.model import LanguageModel
from attention.scores import head_scores, repeated_tokens
from attention.training.evaluate import FIRST_PROBE, PROBES, Evaluation, held_out_loss
from attention.training.train import Trainer


@dataclass(frozen=True)
class Copies:
    """How a model fares on `<bos>` + R + R, means over several random R.

    Attributes:
        scores: every head's, by metric.
        first: loss on the first R, nats a token.
        second: loss on the second R from its second token on, the first that can be known.
        accuracy: share of those that are guessed right.
    """

    scores: dict[str, np.ndarray]
    first: float
    second: float
    accuracy: float


def watch_copies(model: LanguageModel, probes: int = PROBES) -> Copies:
    """Run the model on repeated random tokens."""
    tables, first, second, right = [], [], [], []
    for seed in range(FIRST_PROBE, FIRST_PROBE + probes):
        ids = repeated_tokens(model.config, seed=seed)
        record = model.run(ids)
        tables.append(head_scores(record))
        targets = torch.tensor(ids[1:])
        losses = functional.cross_entropy(record.logits[:-1], targets, reduction="none")
        half = len(ids) // 2  # tokens of R
        first.append(losses[:half].mean().item())
        second.append(losses[half + 1 :].mean().item())
        guessed = record.logits[half + 1 : -1].argmax(-1) == targets[half + 1 :]
        right.append(guessed.float().mean().item())
    scores = {name: np.mean([table[name] for table in tables], axis=0) for name in tables[0]}
    return Copies(scores, float(np.mean(first)), float(np.mean(second)), float(np.mean(right)))


@dataclass
class WatchedTrainer(Trainer):
    """A trainer that keeps every look and its weights, one before the first step too.

    What is looked at are the weights as they are kept, in float16, so that the history holds
    exactly what the files give.
    """

    looks: list[Look] = field(init=False, default_factory=list)
    seen: LanguageModel = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.seen = LanguageModel(self.settings.model, self.tokenizer).eval()
        if self.looks_path.exists():
            kept, _ = read_history(self.looks_path)
            # Later ones belong to steps that a kill has undone; they come again.
            self.looks = [look for look in kept.looks if look.tokens <= self.progress.tokens]
        if self.progress.tokens == 0:
            self.looks = []
            self.see()

    @property
    def looks_path(self) -> Path:
        """Where the looks lie."""
        return self.folder / "looks.json"

    @property
    def candidates(self) -> Path:
        """Where the weights of every look lie."""
        return self.folder / "candidates"

    def see(self) -> Evaluation:
        """Look at the model, and keep the look and the weights."""
        self._round()
        copies = watch_copies(self.seen)
        held_out = held_out_loss(self.seen, self.windows)
        progress = self.progress
        stages_before = [look.step for look in self.looks if look.stage != self.stage.name]
        look = Look(
            step=max(stages_before, default=0) + progress.step,
            tokens=progress.tokens,
            stage=self.stage.name,
            train_loss=float(np.mean(progress.recent)) if progress.recent else float("nan"),
            held_out_loss=held_out,
            first_copy_loss=copies.first,
            second_copy_loss=copies.second,
            scores=copies.scores,
        )
        self.looks.append(look)
        save_model(
            self.seen,
            self.candidates,
            family=attention_only.NAME,
            weights=checkpoint_file(look.tokens),
        )
        self._write(self.looks)
        return Evaluation(loss=held_out, copy_accuracy=copies.accuracy, scores=copies.scores)

    def _round(self) -> None:
        weights = {name: w.half().float() for name, w in self.model.state_dict().items()}
        self.seen.load_state_dict(weights)

    def _write(self, looks: Sequence[Look]) -> None:
        """Before the trainer's own checkpoint, which is what a killed run goes on from."""
        partial = self.looks_path.with_suffix(".part")
        partial.write_text(history_as_text(History(tuple(looks))), encoding="utf-8")
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(self.looks_path)
