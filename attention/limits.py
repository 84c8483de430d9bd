"""What a way to run the heads is asked for, so that it can say what it cannot do."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from attention.config import AttentionConfig


@dataclass(frozen=True)
class Asked:
    """A layer to be computed.

    Attributes:
        config: its sizes.
        rotary: whether q and k get rotary positions, between the projections and the scores.
        device: where it runs.
    """

    config: AttentionConfig
    rotary: bool = False
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))


# Why it cannot be done, in one sentence that names the rule; None where it can.
Limits = Callable[[Asked], str | None]


def no_limits(_asked: Asked) -> None:
    """Of an implementation that computes every layer, everywhere."""
