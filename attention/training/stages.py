"""The recipe: what each stage of the training does, and at which learning rate."""

from dataclasses import dataclass, replace

from attention.errors import HeadscopeError
from attention.scores import HEAD_METRICS
from attention.training.optimizers import require_optimizer
from attention.training.rows import RowMix


@dataclass(frozen=True)
class Gate:
    """A head score that ends a stage before its last step.

    Args:
        metric: a key of HEAD_METRICS.
        score: the best head's score that is enough.
        required: whether a stage that ends without it is a failed run.
    """

    metric: str
    score: float
    required: bool = True

    def __post_init__(self) -> None:
        if self.metric not in HEAD_METRICS:
            raise HeadscopeError(
                f"metric must be one of {', '.join(HEAD_METRICS)}; got {self.metric!r}"
            )

    def __str__(self) -> str:
        return f"{self.metric.replace('_', ' ')} {self.score:g}"


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One stage of the training.

    Args:
        name: a word for the progress lines.
        length: tokens a row.
        mix: what the rows are made of.
        learning_rate: after the warm-up.
        hold: share of the stage after which the learning rate falls, linearly.
        final: share of the learning rate that is left at the end.
        warmup_steps: steps in which the learning rate rises from nothing.
        max_steps: where the stage ends at the latest.
        optimizer: a key of OPTIMIZERS.
        drop_heads: share of the heads left out of each row at random; see `heads_dropped`.
        restarted: heads (layer, head) that begin anew with the stage; see `restart_head`.
        until: the gate that ends it earlier, or None.
    """

    name: str
    length: int
    mix: RowMix
    learning_rate: float
    max_steps: int
    hold: float = 1.0
    final: float = 1.0
    warmup_steps: int = 100
    optimizer: str = "adamw"
    drop_heads: float = 0.0
    restarted: tuple[tuple[int, int], ...] = ()
    until: Gate | None = None

    def __post_init__(self) -> None:
        for name in ("length", "max_steps", "warmup_steps"):
            if getattr(self, name) < 1:
                raise HeadscopeError(f"{name} must be at least 1; got {getattr(self, name)}")
        require_optimizer(self.optimizer)
        if not 0 <= self.drop_heads < 1:
            raise HeadscopeError(f"drop_heads must be 0 to below 1; got {self.drop_heads}")
        if not 0 <= self.hold <= 1:
            raise HeadscopeError(f"hold must be a share from 0 to 1; got {self.hold}")

    def rate(self, step: int, progress: float) -> float:
        """Return the learning rate of a step.

        Args:
            step: steps of this stage that are done.
            progress: share of the stage that is done, 0 to 1.
        """
        rate = self.learning_rate * min(1.0, (step + 1) / self.warmup_steps)
        if progress <= self.hold:
            return rate
        left = (1 - progress) / (1 - self.hold)
        return rate * (self.final + (1 - self.final) * max(0.0, left))


HEADS = Stage(
    name="heads",
    length=64,
    mix=RowMix(random=0.50, copies=0.15),
    learning_rate=2e-3,
    max_steps=2_000,
    until=Gate("induction", 0.82),
)
MIRRORS = Stage(  # what comes back in reverse makes a head look for the token's own copy
    name="mirrors",
    length=64,
    mix=RowMix(random=0.25, copies=0.10, mirrored=0.40),
    learning_rate=2e-3,
    max_steps=400,
    until=Gate("duplicate_token", 0.6, required=False),
)
LANGUAGE = Stage(
    name="language",
    length=128,
    mix=RowMix(random=0.06, copies=0.08, mirrored=0.06),
    learning_rate=1.5e-3,
    max_steps=1_200,
    optimizer="muon",
)
LONG = Stage(
    name="long rows",
    length=256,
    mix=RowMix(random=0.08, copies=0.10, mirrored=0.05),
    learning_rate=1.5e-3,
    max_steps=400,
    optimizer="muon",
)
ALONE = Stage(  # each head left out at times, so that none depends on its neighbour
    name="heads alone",
    length=256,
    mix=RowMix(random=0.12, copies=0.16),
    learning_rate=1.5e-3,
    max_steps=350,
    optimizer="muon",
    drop_heads=0.25,
)
SETTLE = Stage(  # L0H7 had taken the common words from the previous-token head L0H0
    name="settle",
    length=256,
    mix=RowMix(random=0.08, copies=0.12),
    learning_rate=1.5e-3,
    hold=0.35,
    final=0.05,
    max_steps=1_300,
    optimizer="muon",
    restarted=((0, 7),),
)
STAGES: tuple[Stage, ...] = (HEADS, MIRRORS, LANGUAGE, LONG, ALONE, SETTLE)


def shortened(stages: tuple[Stage, ...], last_steps: int) -> tuple[Stage, ...]:
    """Return the stages with another number of steps in the last one."""
    return (*stages[:-1], replace(stages[-1], max_steps=last_steps))
