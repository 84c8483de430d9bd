"""Times against head count as an SVG file, drawn by hand: the command line needs no browser."""

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from attention.benchmark.imported import Run
from attention.benchmark.measurement import Measurement
from attention.benchmark.numbers import number
from attention.benchmark.passes import PASSES
from attention.benchmark.settings import BenchmarkSettings
from attention.benchmark.summary import Row
from attention.colours import colour_of
from attention.implementations import IMPLEMENTATIONS

INK, LINE, WRONG = "#12141C", "#D5D7E0", "#B00020"
WIDTH, HEIGHT = 820, 460
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 24, 50  # px around the plot
LEGEND_PX = 18  # a line
TICKS = 5
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)  # between ticks, times a power of 10


@dataclass(frozen=True)
class Axes:
    """Where a head count and a time are on the picture, px."""

    most_heads: float
    most_ms: float
    top: float

    def x(self, heads: float) -> float:
        """From the left."""
        return LEFT + heads / self.most_heads * (WIDTH - LEFT - RIGHT)

    def y(self, ms: float) -> float:
        """From the top."""
        room = HEIGHT - BOTTOM - self.top
        return self.top + (1 - min(ms / self.most_ms, 1.0)) * room

    def path(self, points: Sequence[tuple[float, float]]) -> str:
        """Points of an SVG line."""
        return " ".join(f"{self.x(heads):.1f},{self.y(ms):.1f}" for heads, ms in points)


def to_svg(settings: BenchmarkSettings, table: Sequence[Row], other: Run | None = None) -> str:
    """The chart: medians with p10 to p90, the limit in dashes, another run dotted.

    Args:
        settings: of the benchmark.
        table: what was measured.
        other: a run to lay over it.
    """
    here = [m for row in table for m in row.by_name.values() if m.ok]
    shown = settings.implementations
    there = [m for m in other.measurements if m.ok and m.implementation in shown] if other else []
    limit = [
        (float(row.num_heads), least[0])
        for row in table
        if (least := [m.least_ms for m in row.by_name.values() if m.least_ms is not None])
    ]
    names = [*shown, *(["limit"] if limit else []), *([other.environment.name] if other else [])]
    times = [m.median for m in (*here, *there)] or [1.0]
    heads = [m.num_heads for m in (*here, *there)] or [1]
    axes = Axes(1.05 * max(heads), 1.15 * max(times), TOP + LEGEND_PX * len(names))
    drawn = [*_frame(settings, axes)]
    for name in shown:
        colour = colour_of(name)
        drawn += _series([m for m in here if m.implementation == name], axes, colour)
        drawn += _dotted([m for m in there if m.implementation == name], axes, colour)
    drawn.append(_line(axes.path(limit), INK, "8 4"))
    measured = [m for row in table for m in row.by_name.values()]
    drawn += _crosses(measured, axes)
    drawn += _legend(settings, names, measured)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            'font-family="sans-serif" font-size="13">',
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#FFFFFF"/>',
            *drawn,
            "</svg>\n",
        ]
    )


def _frame(settings: BenchmarkSettings, axes: Axes) -> list[str]:
    """Ticks, grid lines and what the axes are."""
    drawn = []
    for ms in _ticks(axes.most_ms):
        y = axes.y(ms)
        drawn.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{LINE}"/>')
        drawn.append(_text(number(ms), LEFT - 8, y + 4, "end"))
    below = HEIGHT - BOTTOM + 18
    counts = [heads for heads in _ticks(axes.most_heads) if heads.is_integer()]
    drawn += [_text(f"{heads:.0f}", axes.x(heads), below, "middle") for heads in counts]
    drawn.append(_text("heads", (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, "middle"))
    drawn.append(_text(f"ms per {PASSES[settings.passes].unit}", 8, 16, "start"))
    return drawn


def _ticks(most: float) -> list[float]:
    """Round numbers from 0 to the end of an axis."""
    power = 10.0 ** (len(f"{most:.0f}") - 1) if most >= 1 else 1.0
    while power > most:
        power /= 10
    step = next(
        s * power / 10 for s in (*STEPS, *(10 * s for s in STEPS)) if s * power * TICKS / 10 >= most
    )
    return [i * step for i in range(TICKS + 1) if i * step <= most]


def _series(found: Sequence[Measurement], axes: Axes, colour: str) -> list[str]:
    """Band, line and points; hollow where other programs disturbed."""
    band = [(m.num_heads, m.p90) for m in found] + [(m.num_heads, m.p10) for m in reversed(found)]
    points = [
        f'<circle cx="{axes.x(m.num_heads):.1f}" cy="{axes.y(m.median):.1f}" r="4" '
        f'stroke="{colour}" stroke-width="2" fill="{"#FFFFFF" if m.disturbed else colour}"/>'
        for m in found
    ]
    medians = axes.path([(m.num_heads, m.median) for m in found])
    faint = f'<polygon points="{axes.path(band)}" fill="{colour}" fill-opacity="0.15"/>'
    return [faint, _line(medians, colour), *points]


def _crosses(found: Sequence[Measurement], axes: Axes) -> list[str]:
    """A cross on the axis for each head count at which something failed; the legend says what."""
    counts = sorted({m.num_heads for m in found if _failed(m)})
    return [_text("×", axes.x(heads), axes.y(0) + 6, "middle", WRONG) for heads in counts]


def _failed(m: Measurement) -> bool:
    return not (m.ok or m.impossible)


def _without_time(found: Sequence[Measurement]) -> str:
    """Where an implementation has no time, for the legend."""
    told = []
    for words, counts in (
        ("failed", [m.num_heads for m in found if _failed(m)]),
        ("not possible", [m.num_heads for m in found if m.impossible]),
    ):
        if counts:
            noun = "head" if counts == [1] else "heads"
            told.append(f"{words} at {', '.join(map(str, sorted(counts)))} {noun}")
    return f": {'; '.join(told)}" if told else ""


def _dotted(found: Sequence[Measurement], axes: Axes, colour: str) -> list[str]:
    ordered = sorted(found, key=lambda m: m.num_heads)
    return [_line(axes.path([(m.num_heads, m.median) for m in ordered]), colour, "2 4")]


def _line(points: str, colour: str, dashes: str = "") -> str:
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"{dashed}/>'


def _legend(
    settings: BenchmarkSettings, names: Sequence[str], measured: Sequence[Measurement]
) -> list[str]:
    """A line each: the implementations, the limit, the other machine."""
    shown = settings.implementations
    drawn = []
    for place, name in enumerate(names):
        y = TOP + LEGEND_PX * place
        colour, dashes, said = INK, "2 4", f"dotted: {name}"
        if place < len(shown):
            colour, dashes = colour_of(shown[place]), ""
            own = [m for m in measured if m.implementation == name]
            said = f"{IMPLEMENTATIONS[name].title}{_without_time(own)}"
        elif name == "limit":
            dashes, said = "8 4", "limit: plain matrix products"
        drawn.append(_line(f"{LEFT + 80},{y} {LEFT + 110},{y}", colour, dashes))
        drawn.append(_text(said, LEFT + 118, y + 4, "start"))
    return drawn


def _text(said: str, x: float, y: float, anchor: str, colour: str = INK) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} fill="{colour}">{escape(said)}</text>'
