"""A benchmark's points against head count: medians, spread, straight lines, and the limit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from components.figures.labels import escaped
from components.figures.quantities import QUANTITIES, Quantity
from components.figures.timing_axes import CROSS, layout
from components.figures.timing_hover import cut, hover, title
from components.theme import Ink, mark

if TYPE_CHECKING:
    from attention.benchmark import BenchmarkSettings, Line, Measurement
    from attention.benchmark.imported import Run
    from attention.benchmark.summary import Row

BAND_OPACITY = 0.15
# Sizes in px that tell points apart from the back of a room, on a window of a laptop's width.
POINT, OUTLINE = 13, 3
OTHER_POINT, OTHER_LINE = 8, 2.5
MOST_NAMED = 3  # of the failures at one head count
LAST = 2000  # in the legend, where Plotly's own rank is 1000


@dataclass(frozen=True)
class Timing:
    """What the chart shows.

    Attributes:
        settings: of the benchmark.
        rows: what is measured so far, by head count.
        lines: the straight line of each implementation that has one.
        crossover: the head count at which loop and batch change places, or None.
        most_heads: where the axis ends, so that it stays while points are added.
        quantity: what is drawn upwards.
        other: another run to lay over this one.
    """

    settings: "BenchmarkSettings"
    rows: "Sequence[Row]"
    lines: "dict[str, Line]"
    crossover: float | None
    most_heads: int
    quantity: Quantity = QUANTITIES["time"]
    other: "Run | None" = None

    def hollow(self, m: "Measurement") -> bool:
        """Whether other programs may have changed what is drawn of a point."""
        return self.quantity.timed and m.disturbed is not None

    def points(self) -> "list[Measurement]":
        """All that is measured here."""
        return [m for row in self.rows for m in row.by_name.values()]

    def points_of_the_other(self) -> "list[Measurement]":
        """What the other run has of the implementations shown, up to where the axis ends."""
        if self.other is None:
            return []
        shown = self.settings.implementations
        found = [m for m in self.other.measurements if m.implementation in shown]
        return [m for m in found if m.ok and m.num_heads <= self.most_heads]


def timing_figure(timing: Timing, ink: Ink) -> go.Figure:
    """The chart; without rows its skeleton, which has the same traces in the same order.

    Args:
        timing: what to show.
        ink: the page's colours.
    """
    names = timing.settings.implementations
    by_name = [_traces(timing, name, ink) for name in names]
    layers = zip(*by_name, strict=True)  # all bands below all lines below all points
    figure = go.Figure(_limit(timing, ink))
    figure.add_traces([trace for layer in layers for trace in layer])
    figure.add_traces(_other(timing, ink))
    figure.add_trace(_hollow(timing, ink))
    figure.add_trace(_impossible(timing, ink))
    figure.add_trace(_failures(timing, ink))
    figure.update_layout(layout(timing, ink))
    return figure


def _traces(timing: Timing, name: str, ink: Ink) -> list[go.Scatter]:
    """Band, line, points, and what stands for them in the legend."""
    look, over_time = mark(name), timing.quantity.key == "time"
    timed = [
        (row, m, value)
        for row in timing.rows
        if (m := row.by_name.get(name)) is not None
        and (value := timing.quantity.value(m)) is not None
    ]
    heads = [m.num_heads for _, m, _ in timed]
    line = timing.lines.get(name) if over_time and timed else None
    quiet = {"hoverinfo": "skip", "legendgroup": name, "showlegend": False}
    spread = timed if over_time else []
    band = go.Scatter(
        x=[m.num_heads for _, m, _ in [*spread, *reversed(spread)]],
        y=[m.p90 for _, m, _ in spread] + [m.p10 for _, m, _ in reversed(spread)],
        fill="toself",
        fillcolor=_faint(look.colour),
        line={"width": 0},
        mode="lines",
        **quiet,
    )
    ends = [heads[0], heads[-1]] if line is not None else []
    fitted = go.Scatter(
        x=ends if over_time else heads,
        y=[line.at(end) for end in ends] if line is not None else [y for _, _, y in timed],
        mode="lines",
        line={"color": look.colour, "dash": "dash" if over_time else "solid", "width": 2},
        **quiet,
    )
    points = go.Scatter(
        x=heads,
        y=[value for _, _, value in timed],
        mode="markers",
        marker={
            "color": [ink.page if timing.hollow(m) else look.colour for _, m, _ in timed],
            "line": {"color": look.colour, "width": OUTLINE},
            "symbol": look.symbol,
            "size": POINT,
            "opacity": 1,
        },
        hovertext=[hover(m, row.ratio) for row, m, _ in timed],
        hoverinfo="text",
        legendgroup=name,
        showlegend=False,
    )
    key = go.Scatter(
        x=[None],
        y=[None],
        mode="markers",
        marker={"color": look.colour, "symbol": look.symbol, "size": POINT},
        name=_legend(name, line),
        legendgroup=name,
    )
    return [band, fitted, points, key]


def _legend(name: str, line: "Line | None") -> str:
    from attention.benchmark.summary import number

    if line is None:
        return title(name)
    fitness = "" if line.r_squared is None else f", R² {line.r_squared:.3f}"
    return f"{title(name)}: {number(line.slope)} ms a head{fitness}"


def _limit(timing: Timing, ink: Ink) -> go.Scatter:
    """What plain matrix products of the same shapes reach."""
    found = [
        (row.num_heads, value)
        for row in timing.rows
        if (value := timing.quantity.limit(row)) is not None
    ]
    return go.Scatter(
        x=[heads for heads, _ in found],
        y=[value for _, value in found],
        mode="lines",
        line={"color": ink.muted, "dash": "longdash", "width": 2},
        name="Limit: plain matrix products",
        legendrank=LAST,
        hoverinfo="skip",
        showlegend=bool(found),
    )


def _other(timing: Timing, ink: Ink) -> list[go.Scatter]:
    """The other run: dotted with small markers, one line in the legend that names its machine."""
    if timing.other is None:
        return []
    place = timing.other.environment.name
    found: list[go.Scatter] = []
    for name in timing.settings.implementations:
        look = mark(name)
        own = [m for m in timing.points_of_the_other() if m.implementation == name]
        pairs = [(m, y) for m in own if (y := timing.quantity.value(m)) is not None]
        pairs.sort(key=lambda pair: pair[0].num_heads)
        found.append(
            go.Scatter(
                x=[m.num_heads for m, _ in pairs],
                y=[y for _, y in pairs],
                mode="lines+markers",
                line={"color": look.colour, "dash": "dot", "width": OTHER_LINE},
                marker={
                    "color": [ink.page if timing.hollow(m) else look.colour for m, _ in pairs],
                    "line": {"color": look.colour, "width": 1.5},
                    "symbol": look.symbol,
                    "size": OTHER_POINT,
                    "opacity": 1,
                },
                hovertext=[hover(m, place=place) for m, _ in pairs],
                hoverinfo="text",
                legendgroup=name,
                showlegend=False,
            )
        )
    key = go.Scatter(
        x=[None],
        y=[None],
        mode="lines+markers",
        line={"color": ink.muted, "dash": "dot", "width": OTHER_LINE},
        marker={"symbol": "circle", "size": OTHER_POINT},
        name=f"Dotted: {escaped(cut(place))}",
        legendrank=LAST + 1,
    )
    return [*found, key]


def _hollow(timing: Timing, ink: Ink) -> go.Scatter:
    """What a hollow point is, in the legend while there is one."""
    shown = [*timing.points(), *timing.points_of_the_other()]
    return go.Scatter(
        x=[None],
        y=[None],
        mode="markers",
        marker={
            "color": ink.page,
            "line": {"color": ink.muted, "width": OUTLINE},
            "symbol": "circle",
            "size": POINT,
        },
        name="Hollow: disturbed",
        legendrank=LAST + 2,
        showlegend=any(m.ok and timing.hollow(m) for m in shown),
    )


def _impossible(timing: Timing, ink: Ink) -> go.Scatter:
    """A muted sign on the axis for what has no such pass or layer: nothing failed there."""
    found = [m for m in timing.points() if m.impossible]
    names = list(dict.fromkeys(title(m.implementation) for m in found))
    return go.Scatter(
        x=[m.num_heads for m in found],
        y=[0] * len(found),
        mode="markers",
        marker={
            "color": ink.muted,
            "line": {"width": 2},
            "symbol": "circle-x-open",
            "size": CROSS,
        },
        cliponaxis=False,
        name=f"Not possible: {', '.join(_shortened(names))}",
        hovertext=[hover(m) for m in found],
        hoverinfo="text",
        legendrank=LAST + 3,
        showlegend=bool(found),
    )


def _failures(timing: Timing, ink: Ink) -> go.Scatter:
    """A red cross where results differ or are missing, with their names: on the axis, as timeless.

    One for each head count, or one would hide the other.
    """
    found = [
        (row.num_heads, failed)
        for row in timing.rows
        if (failed := [m for m in row.by_name.values() if not (m.ok or m.impossible)])
    ]
    return go.Scatter(
        x=[heads for heads, _ in found],
        y=[0] * len(found),
        mode="markers+text",
        marker={"color": ink.wrong, "symbol": "x", "size": CROSS},
        cliponaxis=False,
        name="Failed: no time",
        text=[_names(failed) for _, failed in found],
        textposition="top center",
        textfont={"color": ink.wrong},
        hovertext=["<br><br>".join(map(hover, failed)) for _, failed in found],
        hoverinfo="text",
        legendrank=LAST + 4,
        showlegend=bool(found),
    )


def _names(failed: "list[Measurement]") -> str:
    """Whose results failed, one above the other."""
    return "<br>".join(_shortened([title(m.implementation) for m in failed]))


def _shortened(names: list[str]) -> list[str]:
    """The first few, and how many more there are."""
    if len(names) <= MOST_NAMED:
        return names
    return [*names[: MOST_NAMED - 1], f"{len(names) - MOST_NAMED + 1} more"]


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{BAND_OPACITY})"
