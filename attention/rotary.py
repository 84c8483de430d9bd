"""Rotary positions: q and k are turned by an angle that grows with the position."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention.errors import ConfigError, is_number, require_positive, shown
from attention.rope_scaling import Scaling

PREPARED = 4_096  # positions whose angles are worked out at once; the rest when they are needed


@runtime_checkable
class Positions(Protocol):
    """What is done to q and k between their projections and the scores."""

    def place(self, q: Tensor, k: Tensor, start: int) -> tuple[Tensor, Tensor]:
        """Q and k, (..., pos, head_dim), with their positions, the first of which is `start`."""


@dataclass(frozen=True, kw_only=True)
class Rope:
    """How a layer turns q and k.

    Attributes:
        theta: the base of the wavelengths.
        rotary_dim: how many features of a head are turned, the first ones; None for all.
        scaling: stretches the wavelengths for longer texts; None for as they are.
    """

    theta: float = 10_000.0
    rotary_dim: int | None = None
    scaling: Scaling | None = None

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not is_number(self.theta) or self.theta <= 0:
            raise ConfigError(f"rope_theta must be a number above 0; got {shown(self.theta)}.")
        if self.rotary_dim is not None:
            require_positive("rotary_dim", self.rotary_dim)

    def turned(self, head_dim: int) -> int:
        """How many features of a head are turned.

        Raises:
            ConfigError: when they are no pairs, or more than there are.
        """
        turned = head_dim if self.rotary_dim is None else self.rotary_dim
        if turned % 2 or turned > head_dim:
            name = "head_dim" if self.rotary_dim is None else "rotary_dim"
            raise ConfigError(
                f"{name} must be even for rotary positions, and at most head_dim {head_dim}; "
                f"got {turned}."
            )
        return turned


PLAIN_ROPE = Rope()


class Rotary(nn.Module):
    """Rotates the two halves of each head's features, or of the first of them, as Llama does.

    Args:
        head_dim: features of a head; even unless only some are turned.
        context_length: the most positions, tokens.
        theta: the base of the wavelengths; for a plain `rope`.
        rope: how they are turned.

    Source: Su et al. 2021 (RoFormer), section 3.2; halves instead of pairs as in Llama.
    """

    cos: Tensor
    sin: Tensor

    def __init__(
        self,
        head_dim: int,
        context_length: int,
        *,
        theta: float = 10_000.0,
        rope: Rope | None = None,
    ) -> None:
        super().__init__()
        self.rope = Rope(theta=theta) if rope is None else rope
        self.turned = self.rope.turned(head_dim)
        self.context_length = context_length
        cos, sin = self._angles(min(context_length, PREPARED), 1)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def _angles(self, positions: int, seq_len: int) -> tuple[Tensor, Tensor]:
        """Cosine and sine for each position and pair of features, float32, on the CPU.

        Args:
            positions: how many.
            seq_len: how many tokens are read, where the rates depend on it.
        """
        scaling, theta = self.rope.scaling, self.rope.theta
        with torch.inference_mode(mode=False):  # or training could not save them for backward
            pairs = torch.arange(0, self.turned, 2, dtype=torch.float64, device="cpu")
            rates = theta ** (-pairs / self.turned)
            amplitude = 1.0
            if scaling is not None:
                rates, amplitude = scaling.rates(rates, theta, seq_len), scaling.amplitude
            at = torch.arange(positions, dtype=torch.float64, device="cpu")[:, None] * rates
            return (at.cos() * amplitude).float(), (at.sin() * amplitude).float()

    def _until(self, end: int) -> tuple[Tensor, Tensor]:
        """The angles of the positions up to `end`, and maybe more."""
        scaling = self.rope.scaling
        if scaling is not None and scaling.depends_on_length(end):
            cos, sin = self._angles(end, end)
            return cos.to(self.cos), sin.to(self.sin)
        if end > self.cos.shape[0]:
            positions = min(max(end, 2 * self.cos.shape[0]), self.context_length)
            cos, sin = self._angles(positions, end)
            self.cos, self.sin = cos.to(self.cos), sin.to(self.sin)
        return self.cos, self.sin

    def forward(
        self, x: Float[Tensor, "*batch pos head_dim"], start: int = 0
    ) -> Float[Tensor, "*batch pos head_dim"]:
        """Turn q or k; the lengths of the vectors stay what they were.

        Args:
            x: the vectors.
            start: the position of the first of them.
        """
        end = start + x.shape[-2]
        cos, sin = (angles[start:end] for angles in self._until(end))
        whole = self.turned == x.shape[-1]
        first, second = (x if whole else x[..., : self.turned]).chunk(2, dim=-1)
        parts = [first * cos - second * sin, second * cos + first * sin]
        rest = [] if whole else [x[..., self.turned :]]
        return torch.cat([*parts, *rest], dim=-1).to(x.dtype)

    def place(self, q: Tensor, k: Tensor, start: int) -> tuple[Tensor, Tensor]:
        """See `Positions`."""
        return self(q, start), self(k, start)


class NormedPositions:
    """Norms of q and k, each over the features of a head, before they are turned.

    Args:
        norm_q: of the queries.
        norm_k: of the keys.
        rotary: turns them; None where they are not.

    Source: Henry et al. 2020 (Query-Key Normalization); as in Qwen 3 and Gemma 3.
    """

    def __init__(self, norm_q: nn.Module, norm_k: nn.Module, rotary: Rotary | None) -> None:
        self.norm_q = norm_q
        self.norm_k = norm_k
        self.rotary = rotary

    def place(self, q: Tensor, k: Tensor, start: int) -> tuple[Tensor, Tensor]:
        """See `Positions`."""
        q, k = self.norm_q(q), self.norm_k(k)
        return (q, k) if self.rotary is None else self.rotary.place(q, k, start)
