"""The straight line through times against head counts: what one more head costs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from attention.benchmark.measurement import Measurement

ENOUGH = 3  # points, below which any line fits


@dataclass(frozen=True)
class Line:
    """A least-squares line.

    Attributes:
        slope: ms a head.
        intercept: ms at no head.
        r_squared: share of the variance that the line explains, at most 1; None where it says
            nothing: with two points, or equal times.
        points: points it was fitted to.
        disturbed: whether disturbed points are among them.
    """

    slope: float
    intercept: float
    r_squared: float | None
    points: int
    disturbed: bool = False

    def at(self, num_heads: float) -> float:
        """The line's time at a head count, ms."""
        return self.intercept + self.slope * num_heads


def fit_line(heads: Sequence[int], times: Sequence[float]) -> Line | None:
    """The least-squares line; None with fewer than two different head counts.

    Args:
        heads: head counts.
        times: ms, one for each.

    Example:
        `fit_line([1, 2, 4], [3.0, 5.0, 9.0]).slope` is 2.0.
    """
    if len(set(heads)) < 2:
        return None
    mean_x, mean_y = fmean(heads), fmean(times)
    spread = sum((x - mean_x) ** 2 for x in heads)
    pairs = list(zip(heads, times, strict=True))
    slope = sum((x - mean_x) * (y - mean_y) for x, y in pairs) / spread
    intercept = mean_y - slope * mean_x
    total = sum((y - mean_y) ** 2 for y in times)
    left = sum((y - intercept - slope * x) ** 2 for x, y in pairs)
    tells = len(heads) >= ENOUGH and total > 0
    return Line(slope, intercept, 1 - left / total if tells else None, len(heads))


def fit(measurements: Iterable[Measurement]) -> Line | None:
    """The line through one implementation's medians.

    Disturbed points are left out as long as enough quiet ones remain.
    """
    timed = [m for m in measurements if m.ok]
    quiet = [m for m in timed if m.disturbed is None]
    used = quiet if len(quiet) >= ENOUGH or len(quiet) == len(timed) else timed
    line = fit_line([m.num_heads for m in used], [m.median for m in used])
    if line is None:
        return None
    disturbed = len(used) > len(quiet)
    return Line(line.slope, line.intercept, line.r_squared, line.points, disturbed)
