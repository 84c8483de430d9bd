"""One implementation at one head count: its times, its shapes, and whether it was right."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from statistics import median, quantiles
from typing import Any

from attention.benchmark.limit import Limit

FENCE = 3.0  # times the distance of the quartiles, beyond the upper one (Tukey 1977: "far out")
FAR = 3.0  # times the median; or samples that are nearly equal would be told apart
DERIVED = ("median", "p10", "p90", "far_out", "flops_per_second", "share")
FEWEST = 4  # samples, below which none is far from the rest


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What was found about one implementation at one head count.

    Attributes:
        implementation: a key of IMPLEMENTATIONS.
        num_heads: query heads.
        head_dim: width of one head, features.
        d_out: concatenated width, num_heads * head_dim, features.
        weights: each weight as it is kept, `8 × heads.*.W_query (32, 256)`, the queries' first.
        output: the output's shape (batch, pos, d_model); pos is 1 in a decode step.
        samples: ms a pass, in the order in which they were taken; empty when not timed.
        output_difference: largest absolute difference of the output from the same layer
            computed by `batched` in float64 (which the tests prove equal to `reference`).
        pattern_difference: the same of the pattern; None where the implementation has none.
        tolerance: what `output_difference` may be at most in this dtype.
        gradient_difference: the largest of any gradient of input or weights, as a share of that
            gradient's largest number; None in a pass without gradients.
        gradient_of: which gradient that is: x, W_Q, …
        equal: whether all differences are within tolerance; None when it could not be seen.
        checked_tokens: how many tokens, from the first, were computed whole in float64 where the
            text was too long for more, and with them a few rows of the rest; None for all.
        flops: of one pass, by formula; see `work`.
        moved_bytes: bytes read and written in one pass, by formula.
        limit: how long plain matrix products of the same shapes took in the same run.
        limit_ms: how long such products take for `flops`.
        least_ms: how long they take for the FLOPs that no causal layer can do without.
        peak_bytes: the most memory that a pass holds at once beyond what it finds.
        operators: aten:: operators that a pass dispatches.
        kernels: kernels that it runs on a GPU.
        faults: pages of memory that the system hands out anew in a pass; see `page_faults`.
        compile_s: seconds that compiling what is timed took; None without `torch.compile`.
        others: cores kept busy by other programs meanwhile; None where unknown.
        disturbed: why the times are not to be trusted; None when they are.
        error: why there is no time, in one sentence.
        impossible: whether that is because it has no such pass or layer: nothing failed.
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
    gradient_difference: float | None = None
    gradient_of: str | None = None
    tolerance: float | None = None
    equal: bool | None = None
    checked_tokens: int | None = None
    flops: int | None = None
    moved_bytes: int | None = None
    limit: Limit | None = None
    limit_ms: float | None = None
    least_ms: float | None = None
    peak_bytes: int | None = None
    operators: int | None = None
    kernels: int | None = None
    faults: int | None = None
    compile_s: float | None = None
    others: float | None = None
    disturbed: str | None = None
    error: str | None = None
    impossible: bool = False

    @property
    def ok(self) -> bool:
        """Whether it was right and has a time."""
        return bool(self.equal and self.samples)

    @cached_property
    def far_out(self) -> tuple[float, ...]:
        """The samples that are left out, ms: a laptop slept, or the system stood still.

        Those above the upper quartile by more than three times the distance of the quartiles,
        and above three times the median.
        """
        if len(self.samples) < FEWEST:
            return ()
        low, middle, high = quantiles(self.samples, n=4, method="inclusive")
        fence = max(high + FENCE * (high - low), FAR * middle)
        return tuple(sample for sample in self.samples if sample > fence)

    @cached_property
    def _kept(self) -> list[float]:
        return sorted(self.samples)[: len(self.samples) - len(self.far_out)]

    @property
    def median(self) -> float:
        """Median, ms; NaN when not timed."""
        return median(self._kept) if self._kept else float("nan")

    @property
    def p10(self) -> float:
        """What a tenth of the samples stay below, ms; NaN when not timed."""
        return self._decile(0)

    @property
    def p90(self) -> float:
        """What nine tenths of the samples stay below, ms; NaN when not timed."""
        return self._decile(-1)

    def _decile(self, index: int) -> float:
        if len(self._kept) < 2:
            return self.median
        return quantiles(self._kept, n=10, method="inclusive")[index]

    @property
    def flops_per_second(self) -> float | None:
        """FLOP/s of the median pass."""
        return self.flops / self.median * 1e3 if self.ok and self.flops is not None else None

    @property
    def share(self) -> float | None:
        """FLOP/s as a share of those of plain matrix products: 1 is as fast as these.

        It can be above 1 where a kernel keeps in the cache what the plain products write.
        """
        return self.limit_ms / self.median if self.ok and self.limit_ms is not None else None

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON, with what follows from them (None when not timed)."""
        derived: dict[str, Any] = dict.fromkeys(DERIVED)
        if self.samples:
            derived = {name: getattr(self, name) for name in derived}
        return {**asdict(self), **derived}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Measurement":
        """The inverse of `to_json`, after a journey through JSON."""
        own: dict[str, Any] = {name: values[name] for name in cls.__dataclass_fields__}
        for name in ("weights", "output", "samples"):
            own[name] = tuple(own[name])
        if own["limit"] is not None:
            limit = own["limit"]
            own["limit"] = Limit(tuple(limit["projections"]), tuple(limit["attention"]))
        return cls(**own)
