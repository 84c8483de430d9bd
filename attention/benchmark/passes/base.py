"""What the kinds of passes share: what goes in, what comes out, and what a kind must say of itself.

A kind of pass is one file here and one line in `PASSES`. Settings, check, timing, formulas, chart
and page ask the entry and have no branches of their own.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from jaxtyping import Float
from torch import Tensor

from attention.benchmark.positions import Positions, whole
from attention.implementations.base import AttentionModule
from attention.implementations.batched import BatchedAttention

if TYPE_CHECKING:
    from attention.implementations import Implementation


@dataclass(frozen=True)
class Given:
    """What goes into a pass.

    Attributes:
        x: the tokens; for a decode step the kept ones and the new one.
        pull: the gradient that arrives at the output, where gradients are computed.
    """

    x: Float[Tensor, "batch pos d_in"]
    pull: Float[Tensor, "batch query d_model"]


@dataclass(frozen=True)
class Result:
    """What comes out of a pass.

    Attributes:
        out: the layer's output for the tokens that the pass computes.
        pattern: their rows; None where none is returned.
        gradients: by what they are of: x, and the parts of HeadWeights.
    """

    out: Float[Tensor, "batch query d_model"]
    pattern: Float[Tensor, "batch head query key"] | None = None
    gradients: dict[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class Ready:
    """A pass of one implementation, set up as often as it is wanted.

    Attributes:
        run: the pass that is timed.
        read: what a value of `run` holds.
        with_pattern: the output and the pattern of a pass that is asked for both.
    """

    run: Callable[[], Any]
    read: Callable[[Any], Result]
    with_pattern: Callable[[], tuple[Tensor, Tensor | None]]


class Pass(ABC):
    """One kind of pass through a layer.

    Attributes:
        name: its key in PASSES.
        title: what a person sees.
        summary: what is timed, in one sentence.
        unit: what one of them is called.
        tokens: what it reads, with a place for seq_len.
        extra: tokens beyond seq_len.
        products: how many matrix products there are for each of a forward pass.
        gradients: whether gradients come out.
        squares: patterns that are held at once.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    unit: ClassVar[str]
    tokens: ClassVar[str] = "{} tokens"
    extra: ClassVar[int] = 0
    products: ClassVar[int] = 1
    gradients: ClassVar[bool] = False
    squares: ClassVar[int] = 3  # scores, masked scores and pattern

    def positions(self, seq_len: int) -> Positions:
        """Which positions are computed, and which they attend to."""
        return whole(seq_len)

    def rows_held(self, seq_len: int) -> int:
        """The most rows of a head's pattern that are computed at once."""
        return seq_len

    def why_not(self, entry: "Implementation", kind: str) -> str | None:
        """Why an implementation has no such pass on a kind of device; None where it has."""
        return None

    @abstractmethod
    def exact(self, module: BatchedAttention, given: Given) -> Result:
        """The exact result, by a module in float64."""

    @abstractmethod
    def ready(self, module: AttentionModule, given: Given) -> Ready:
        """Set the pass up for one implementation."""
