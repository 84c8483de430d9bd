"""The optimizers of the training: AdamW alone, or Muon for the matrices inside the blocks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from attention.errors import HeadscopeError

DECAY = 0.1
BETAS = (0.9, 0.98)
Build = Callable[[nn.Module], list[torch.optim.Optimizer]]


def adamw(model: nn.Module) -> list[torch.optim.Optimizer]:
    """AdamW that decays matrices, and neither norms nor biases."""
    return [_adamw(list(model.parameters()))]


def muon(model: nn.Module) -> list[torch.optim.Optimizer]:
    """Muon for the blocks' matrices, AdamW for the embedding, norms and biases.

    Muon's steps are scaled to the size of AdamW's, so that one learning rate does for both.

    Source: Jordan et al. 2024, Muon; the scale is that of Liu et al. 2025, Muon is Scalable.
    """
    inner = {n: p for n, p in model.named_parameters() if p.dim() == 2 and n.startswith("blocks.")}
    outer = [p for n, p in model.named_parameters() if n not in inner]
    matrices = torch.optim.Muon(
        list(inner.values()), lr=0.0, weight_decay=DECAY, adjust_lr_fn="match_rms_adamw"
    )
    return [matrices, _adamw(outer)]


OPTIMIZERS: dict[str, Build] = {"adamw": adamw, "muon": muon}


def _adamw(parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    groups = [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": DECAY},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=0.0, betas=BETAS, fused=True)


@dataclass(frozen=True)
class Optimizers:
    """Several optimizers that are used as one, each for its own parameters."""

    parts: list[torch.optim.Optimizer]

    @classmethod
    def build(cls, name: str, model: nn.Module) -> "Optimizers":
        """Make those of an entry of OPTIMIZERS.

        Raises:
            HeadscopeError: there is no such entry.
        """
        require_optimizer(name)
        return cls(OPTIMIZERS[name](model))

    def set_rate(self, rate: float) -> None:
        """Set the learning rate of all of them."""
        for part in self.parts:
            for group in part.param_groups:
                group["lr"] = rate

    def zero_grad(self) -> None:
        """Drop the gradients."""
        for part in self.parts:
            part.zero_grad(set_to_none=True)

    def step(self) -> None:
        """Move every parameter once."""
        for part in self.parts:
            part.step()

    def state_dict(self) -> dict[str, Any]:
        """All that a later run needs to go on."""
        return {"parts": [part.state_dict() for part in self.parts]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from `state_dict`."""
        for part, kept in zip(self.parts, state["parts"], strict=True):
            part.load_state_dict(kept)


def require_optimizer(name: str) -> None:
    """Refuse an optimizer that does not exist.

    Raises:
        HeadscopeError: the name is no entry of OPTIMIZERS.
    """
    if name not in OPTIMIZERS:
        raise HeadscopeError(f"optimizer must be one of {', '.join(OPTIMIZERS)}; got {name!r}")
