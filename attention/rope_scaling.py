"""Ways to stretch rotary wavelengths, so that a model reads longer texts than it was trained on."""

from typing import Protocol, runtime_checkable

from torch import Tensor


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
