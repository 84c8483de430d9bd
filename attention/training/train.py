"""The training loop: stages, gates on head scores, progress lines, exact resuming."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor, nn
from torch.nn import functional

from attention.errors import HeadscopeError
from attention.model import LanguageModel
from attention.model_config import ModelConfig
from attention.tokens import Tokenizer
from attention.training.checkpoint import LogEntry, Progress, load_checkpoint, save_checkpoint
from attention.training.drop_heads import heads_dropped
from attention.training.evaluate import Evaluation, evaluate
from attention.training.initialise import initialise, restart_head
from attention.training.optimizers import Optimizers
from attention.training.rows import IGNORED, Texts, make_batch
from attention.training.stages import STAGES, Stage

Report = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """What a run does.

    Args:
        model: the model's sizes.
        stages: in their order.
        seed: of the weights and the rows.
        tokens_per_step: rows times their length.
        evaluate_every: steps between two looks at the model.
        save_every: steps between two checkpoints.
        minutes: time for the whole run; the last stage's schedule is fitted into it.
    """

    model: ModelConfig
    stages: tuple[Stage, ...] = STAGES
    seed: int = 0
    tokens_per_step: int = 4_096
    evaluate_every: int = 50
    save_every: int = 50
    minutes: float | None = None

    def __post_init__(self) -> None:
        for name in ("tokens_per_step", "evaluate_every", "save_every"):
            if getattr(self, name) < 1:
                raise HeadscopeError(f"{name} must be at least 1; got {getattr(self, name)}")
        if self.minutes is not None and self.minutes <= 0:
            raise HeadscopeError(f"minutes must be above 0; got {self.minutes}")

    @property
    def recipe(self) -> str:
        """All that decides the result, as one text; a checkpoint keeps it."""
        return repr((self.model, self.stages, self.seed, self.tokens_per_step, self.evaluate_every))


@dataclass
class Trainer:
    """A run: build it, then ``run`` it to the end, or a step at a time.

    Args:
        settings: what it does.
        texts: what the rows are drawn from.
        windows: held-out rows that start with ``<bos>``.
        folder: where ``checkpoint.pt`` lies; a checkpoint there is gone on with.
        report: gets a line at every look.
        tokenizer: goes into the trained model; the loop itself has no use for it.
    """

    settings: TrainSettings
    texts: Texts
    windows: Int64[Tensor, "rows pos"]
    folder: Path
    report: Report
    tokenizer: Tokenizer | None = None
    model: LanguageModel = field(init=False)
    optimizer: Optimizers = field(init=False)
    progress: Progress = field(init=False)

    def __post_init__(self) -> None:
        self.model = LanguageModel(self.settings.model, self.tokenizer)
        found = load_checkpoint(self.checkpoint_path, self.settings.recipe)
        if found is None:
            initialise(self.model, torch.Generator().manual_seed(self.settings.seed))
            self.progress = Progress()
            self.optimizer = self.make_optimizer()
            return
        self.progress = found.progress
        self.model.load_state_dict(found.weights)
        self.optimizer = self.make_optimizer()
        self.optimizer.load_state_dict(found.optimizer)
        self.report(f"going on at {self.progress.tokens / 1e6:.2f}M tokens")

    def make_optimizer(self) -> Optimizers:
        """A fresh one, as every stage begins with; the last stage's when all are done."""
        stages = self.settings.stages
        stage = stages[min(self.progress.stage, len(stages) - 1)]
        return Optimizers.build(stage.optimizer, self.model)

    @property
    def checkpoint_path(self) -> Path:
        """Where the run's state lies."""
        return self.folder / "checkpoint.pt"

    @property
    def done(self) -> bool:
        """Whether every stage is."""
        return self.progress.stage >= len(self.settings.stages)

    @property
    def stage(self) -> Stage:
        """The current stage."""
        return self.settings.stages[self.progress.stage]

    def run(self, after_stage: Callable[[], None] = lambda: None) -> LanguageModel:
        """Train to the end.

        Args:
            after_stage: called whenever a stage has just ended.

        Returns:
            The trained model, in evaluation mode.
        """
        while not self.done:
            stage = self.stage
            self.step()
            if self.done or self.stage is not stage:
                after_stage()
        self.model.eval()
        return self.model

    def step(self) -> None:
        """Train on one batch; look, save and change the stage where it is time."""
        started = time.perf_counter()
        stage, progress, settings = self.stage, self.progress, self.settings
        share = self.stage_share()
        if progress.step == 0:
            self.restart_heads()
        self.optimizer.set_rate(stage.rate(progress.step, share))
        rng = np.random.default_rng((settings.seed, progress.stage, progress.step))
        rows = max(1, settings.tokens_per_step // stage.length)
        inputs, targets = make_batch(rows, stage.length, stage.mix, texts=self.texts, rng=rng)
        generator = torch.Generator().manual_seed(int(rng.integers(1 << 31)))
        with heads_dropped(self.model, stage.drop_heads, generator):
            loss = self.learn(torch.from_numpy(inputs), torch.from_numpy(targets))
        progress.recent.append(loss)
        progress.step += 1
        progress.tokens += inputs.size
        progress.seconds += time.perf_counter() - started
        ended = progress.step >= stage.max_steps or self.stage_share() >= 1
        if ended or progress.step % settings.evaluate_every == 0:
            ended = self.look(stage) or ended
        if ended:
            progress.enter_next_stage()
            self.optimizer = self.make_optimizer()
        if ended or progress.step % settings.save_every == 0:
            self.save()

    def restart_heads(self) -> None:
        """Let the stage's heads begin anew; the same ones in the same way after a kill."""
        generator = torch.Generator().manual_seed(self.settings.seed)
        for layer, head in self.stage.restarted:
            restart_head(self.model, layer, head, generator)

    def learn(self, inputs: Int64[Tensor, "rows pos"], targets: Int64[Tensor, "rows pos"]) -> float:
        """Take one optimizer step; return the loss, nats a token.

        The cross entropy stays in bfloat16: in float32 a step takes twice as long on a CPU.
        """
        self.model.train()
        with torch.autocast("cpu", torch.bfloat16):
            logits = self.model(inputs)
        loss = functional.cross_entropy(
            logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORED
        ).float()
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss.item()

    def stage_share(self) -> float:
        """Return how much of the current stage is done, 0 to 1, by steps or by time."""
        share = self.progress.step / self.stage.max_steps
        minutes = self.settings.minutes
        last = self.progress.stage == len(self.settings.stages) - 1
        if minutes is None or not last:
            return min(1.0, share)
        room = max(1e-9, minutes * 60 - self.progress.stage_started)
        return min(1.0, max(share, (self.progress.seconds - self.progress.stage_started) / room))

    def look(self, stage: Stage) -> bool:
        """Evaluate the model and report; return whether the stage's gate is passed.

        Raises:
            HeadscopeError: the last step of a gated stage is over and its gate is not passed.
        """
        started = time.perf_counter()
        seen = self.see()
        self.progress.seconds += time.perf_counter() - started
        self.progress.log.append(self.entry(stage, seen))
        self.progress.recent.clear()
        self.report(self.line(seen))
        gate = stage.until
        if gate is None:
            return False
        score = seen.best(gate.metric)[0]
        if gate.required and score < gate.score and self.progress.step >= stage.max_steps:
            raise HeadscopeError(
                f"{gate.metric} must pass {gate.score} within {stage.max_steps} steps; "
                f"got {score:.2f}: try another --seed"
            )
        return score >= gate.score

    def see(self) -> Evaluation:
        """Evaluate the model as it is now; who wants more of a look puts it here."""
        return evaluate(self.model, self.windows)

    def entry(self, stage: Stage, seen: Evaluation) -> LogEntry:
        """Return the log's line of a look."""
        return LogEntry(
            stage=stage.name,
            step=self.progress.step,
            tokens=self.progress.tokens,
            seconds=self.progress.seconds,
            train_loss=float(np.mean(self.progress.recent)),
            loss=seen.loss,
            copy_accuracy=seen.copy_accuracy,
            previous=seen.best("previous_token")[0],
            induction=seen.best("induction")[0],
            first=seen.best("first_token")[0],
            duplicate=seen.best("duplicate_token")[0],
        )

    def line(self, seen: Evaluation) -> str:
        """Return a look as one line for a person."""
        entry = self.progress.log[-1]
        speed = entry.tokens / max(entry.seconds, 1e-9)
        steps_left = self.stage.max_steps - entry.step
        at_most = steps_left * self.settings.tokens_per_step / speed / 60
        heads = " ".join(
            f"{metric} {score:.2f}@L{layer}H{head}"
            for metric in ("previous_token", "induction", "first_token", "duplicate_token")
            for score, layer, head in [seen.best(metric)]
        )
        return (
            f"{entry.stage} step {entry.step}/{self.stage.max_steps} "
            f"{entry.tokens / 1e6:.2f}M tokens, train {entry.train_loss:.3f}, "
            f"held out {entry.loss:.3f}, copies {entry.copy_accuracy:.2f}, {heads}, "
            f"{speed:,.0f} tokens/s, stage ends in at most {at_most:.1f} min"
        )

    def save(self) -> None:
        """Write the checkpoint."""
        self.folder.mkdir(parents=True, exist_ok=True)
        save_checkpoint(
            self.checkpoint_path,
            self.progress,
            recipe=self.settings.recipe,
            weights=self.model.state_dict(),
            optimizer=self.optimizer.state_dict(),
        )
