"""The state of a training run on disk, written so that a kill at any moment loses nothing."""

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from attention.errors import HeadscopeError


@dataclass(frozen=True)
class LogEntry:
    """One line of the training's log.

    Args:
        stage: the stage's name.
        step: steps done in that stage.
        tokens: tokens trained on in all.
        seconds: time spent in all.
        train_loss: mean over the steps since the last line, nats a token.
        loss: on held-out text, nats a token.
        copy_accuracy: share of repeated tokens guessed right.
        previous: the best previous-token score.
        induction: the best induction score.
        first: the best first-token score.
        duplicate: the best duplicate-token score.
    """

    stage: str
    step: int
    tokens: int
    seconds: float
    train_loss: float
    loss: float
    copy_accuracy: float
    previous: float
    induction: float
    first: float
    duplicate: float


@dataclass
class Progress:
    """How far a run has come; grows step by step.

    Args:
        stage: index of the current stage; the number of stages when all are done.
        step: steps done in it.
        tokens: tokens trained on in all.
        seconds: time spent in all, without pauses between runs.
        stage_started: seconds at which the current stage began.
        recent: losses since the last line of the log.
        log: the lines so far.
    """

    stage: int = 0
    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    stage_started: float = 0.0
    recent: list[float] = field(default_factory=list)
    log: list[LogEntry] = field(default_factory=list)

    def enter_next_stage(self) -> None:
        """Move to the start of the next stage."""
        self.stage += 1
        self.step = 0
        self.stage_started = self.seconds


def save_checkpoint(
    path: Path,
    progress: Progress,
    *,
    recipe: str,
    weights: dict[str, Tensor],
    optimizer: dict[str, object],
) -> None:
    """Write a checkpoint beside the old one, then swap them in one step.

    No generator's state is in it: every step draws from a generator of its own,
    made of the seed, the stage and the step.
    """
    partial = path.with_suffix(".part")
    state = {
        "recipe": recipe,
        "progress": asdict(progress),
        "weights": weights,
        "optimizer": optimizer,
    }
    with partial.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


@dataclass(frozen=True)
class Checkpoint:
    """What ``load_checkpoint`` found."""

    progress: Progress
    weights: dict[str, Tensor]
    optimizer: dict[str, object]


def load_checkpoint(path: Path, recipe: str) -> Checkpoint | None:
    """Return the checkpoint at ``path``, or None where there is none yet.

    Args:
        path: the file.
        recipe: settings that must be those the run began with.

    Raises:
        HeadscopeError: it belongs to a run with other settings.
    """
    if not path.exists():
        return None
    state = torch.load(path, weights_only=True)
    if state["recipe"] != recipe:
        raise HeadscopeError(
            f"the run in {path.parent} must go on with the settings it began with; "
            f"got others: use them, or another --work folder"
        )
    raw = dict(state["progress"])
    raw["log"] = [LogEntry(**entry) for entry in raw["log"]]
    return Checkpoint(Progress(**raw), state["weights"], state["optimizer"])
