"""One implementation at one head count: its times, its shapes, and whether it was right."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from statistics import median, quantiles
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What was found about one implementation at one head count.

    Attributes:
        implementation: a key of IMPLEMENTATIONS.
        num_heads: query heads.
        head_dim: width of one head, features.
        d_out: concatenated width, num_heads * head_dim, features.
        weights: each weight as it is kept, `8 × heads.*.W_query (32, 256)`, the queries' first.
        output: the output's shape (batch, pos, d_model).
        samples: ms a pass, in the order in which they were taken; empty when not timed.
        output_difference: largest absolute difference of the output from the same layer
            computed by `batched` in float64 (which the tests prove equal to `reference`).
        pattern_difference: the same of the pattern; None where the implementation has none.
        tolerance: what `output_difference` may be at most in this dtype.
        equal: whether both differences are within tolerance; None when it could not be seen.
        others: cores kept busy by other programs meanwhile; None where unknown.
        disturbed: why the times are not to be trusted; None when they are.
        error: why there is no time, in one sentence.
    """

    implementation: str
    num_heads: int
    head_dim: int
    d_out: int
    weights: tuple[str, ...] = ()
    output: tuple[int, ...] = ()
    samples: tuple[float, ...] = ()
    output_difference: float | None = None
    pattern_difference: float | None = None
    tolerance: float | None = None
    equal: bool | None = None
    others: float | None = None
    disturbed: str | None = None
    error: str | None = None

    @property
    def ok(self) -> bool:
        """Whether it was right and has a time."""
        return bool(self.equal and self.samples)

    @property
    def median(self) -> float:
        """Median, ms; NaN when not timed."""
        return median(self.samples) if self.samples else float("nan")

    @property
    def p10(self) -> float:
        """What a tenth of the samples stay below, ms; NaN when not timed."""
        return self._decile(0)

    @property
    def p90(self) -> float:
        """What nine tenths of the samples stay below, ms; NaN when not timed."""
        return self._decile(-1)

    def _decile(self, index: int) -> float:
        if len(self.samples) < 2:
            return self.median
        return quantiles(self.samples, n=10, method="inclusive")[index]

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON, with median, p10 and p90 (None when not timed)."""
        derived: dict[str, float | None] = dict.fromkeys(("median", "p10", "p90"))
        if self.samples:
            derived = {name: getattr(self, name) for name in derived}
        return {**asdict(self), **derived}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Measurement":
        """The inverse of `to_json`, after a journey through JSON."""
        own: dict[str, Any] = {name: values[name] for name in cls.__dataclass_fields__}
        for name in ("weights", "output", "samples"):
            own[name] = tuple(own[name])
        return cls(**own)
