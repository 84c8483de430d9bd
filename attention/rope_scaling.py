"""Ways to stretch rotary wavelengths, so that a model reads longer texts than it was trained on."""

import math
from dataclasses import dataclass, fields
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from attention.errors import ConfigError, is_number, shown


@runtime_checkable
class Scaling(Protocol):
    """How the rates of the turning change.

    Attributes:
        amplitude: a factor on the turned features of q and k.
    """

    @property
    def amplitude(self) -> float:
        """A factor on the turned features of q and k; 1 leaves their lengths."""

    def depends_on_length(self, seq_len: int) -> bool:
        """Whether the rates at that length are other than those of a short text."""

    def rates(self, rates: Tensor, theta: float, seq_len: int) -> Tensor:
        """The changed rates.

        Args:
            rates: radians a token for each pair of features, falling; float64.
            theta: the base that they come from.
            seq_len: how many tokens are read, those in a cache included.
        """


@dataclass(frozen=True, kw_only=True)
class _Stretched:
    """What the ways have in common.

    Attributes:
        factor: how many times as long the texts may be, at least 1.
    """

    factor: float

    def __post_init__(self) -> None:
        """Check the numbers."""
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type is not bool and (not is_number(value) or not 0 < value < math.inf):
                raise ConfigError(f"{field.name} must be a number above 0; got {shown(value)}.")
        if self.factor < 1:
            raise ConfigError(f"factor must be at least 1; got {self.factor!r}.")

    @property
    def amplitude(self) -> float:
        """See `Scaling`."""
        return 1.0

    def depends_on_length(self, _seq_len: int) -> bool:
        """See `Scaling`."""
        return False


@dataclass(frozen=True, kw_only=True)
class Linear(_Stretched):
    """Every wavelength longer by the factor: as if positions were closer together.

    Source: Chen et al. 2023 (Position Interpolation), section 2.3.
    """

    def rates(self, rates: Tensor, _theta: float, _seq_len: int) -> Tensor:
        """See `Scaling`."""
        return rates / self.factor


@dataclass(frozen=True, kw_only=True)
class Dynamic(_Stretched):
    """A larger base, the longer the text: none up to the length of the training.

    What a kv cache holds stays turned by the rates of the length at which it was read.

    Attributes:
        original_length: of the training's texts, tokens.

    Source: bloc97 and emozilla 2023 (dynamic NTK-aware scaling), as in `transformers`.
    """

    original_length: int

    def depends_on_length(self, seq_len: int) -> bool:
        """See `Scaling`."""
        return seq_len > self.original_length

    def rates(self, rates: Tensor, theta: float, seq_len: int) -> Tensor:
        """See `Scaling`.

        Raises:
            ConfigError: when fewer than four features are turned: the base has no power then.
        """
        turned = 2 * len(rates)
        if turned < 4:
            raise ConfigError(f"head_dim must be at least 4 for dynamic scaling; got {turned}.")
        read = max(seq_len, self.original_length)
        longer = self.factor * read / self.original_length - (self.factor - 1)
        base = theta * longer ** (turned / (turned - 2))
        pairs = torch.arange(0, turned, 2, dtype=rates.dtype, device=rates.device)
        return torch.pow(base, -pairs / turned)


@dataclass(frozen=True, kw_only=True)
class Llama3(_Stretched):
    """Long wavelengths longer by the factor, short ones as they were, a ramp between.

    Attributes:
        low_freq_factor: wavelengths above original_length over it are stretched.
        high_freq_factor: wavelengths below original_length over it are left.
        original_length: of the training's texts, tokens.

    Source: Llama 3.1, `apply_scaling` in Meta's reference code.
    """

    low_freq_factor: float
    high_freq_factor: float
    original_length: int

    def __post_init__(self) -> None:
        """Check the numbers."""
        super().__post_init__()
        if self.high_freq_factor <= self.low_freq_factor:
            raise ConfigError(
                f"high_freq_factor must be above low_freq_factor {self.low_freq_factor!r}; "
                f"got {self.high_freq_factor!r}."
            )

    def rates(self, rates: Tensor, _theta: float, _seq_len: int) -> Tensor:
        """See `Scaling`."""
        turns = self.original_length * rates / (2 * math.pi)  # within a text of the training
        span = self.high_freq_factor - self.low_freq_factor
        kept = ((turns - self.low_freq_factor) / span).clamp(0, 1)
        return (1 - kept) * rates / self.factor + kept * rates


@dataclass(frozen=True, kw_only=True)
class Yarn(_Stretched):
    """As `Llama3`, its ramp over pairs of features; scores grow too, through the amplitude.

    Attributes:
        original_length: of the training's texts, tokens.
        attention_factor: the amplitude.
        beta_fast: pairs that turn more often than that in a text of the training are left.
        beta_slow: pairs that turn less often than that are stretched.
        truncate: whether the ramp begins and ends at whole pairs.

    Source: Peng et al. 2023 (YaRN), sections 3.2 and 3.4.
    """

    original_length: int
    attention_factor: float
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    truncate: bool = True

    @property
    def amplitude(self) -> float:
        """See `Scaling`."""
        return float(self.attention_factor)

    def rates(self, rates: Tensor, theta: float, _seq_len: int) -> Tensor:
        """See `Scaling`.

        Raises:
            ConfigError: when the base is 1 or less: all pairs would turn alike.
        """
        if theta <= 1:
            raise ConfigError(f"rope_theta must be above 1 for YaRN; got {theta!r}.")
        turned = 2 * len(rates)

        def pair(turns: float) -> float:
            """The pair, counted from 0, that turns so often in a text of the training."""
            per_turn = self.original_length / (turns * 2 * math.pi)
            return turned * math.log(per_turn) / (2 * math.log(theta))

        first, last = pair(self.beta_fast), pair(self.beta_slow)
        if self.truncate:
            first, last = math.floor(first), math.ceil(last)
        first, last = max(first, 0), min(last, turned - 1)
        last = last + 0.001 if first == last else last  # a step; also what transformers adds
        pairs = torch.arange(len(rates), dtype=rates.dtype, device=rates.device)
        stretched = ((pairs - first) / (last - first)).clamp(0, 1)
        return rates / self.factor * stretched + rates * (1 - stretched)
