"""Time against head count: medians, spread and straight line of each implementation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from components.figures.labels import escaped
from components.theme import Ink, mark

if TYPE_CHECKING:
    from attention.benchmark import BenchmarkSettings, Line, Measurement
    from attention.benchmark.summary import Row

BAND_OPACITY = 0.15
FONT_PX = 14
FONT = '"Source Sans", sans-serif'
HEIGHT_PX = 360
STEPS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)  # where an axis may end, times a power of 10


@dataclass(frozen=True)
class Timing:
    """What the chart shows.

    Attributes:
        settings: of the benchmark.
        rows: what is measured so far, by head count.
        lines: the straight line of each implementation that has one.
        crossover: the head count at which loop and batch change places, or None.
        most_heads: where the axis ends, so that it stays while points are added.
    """

    settings: "BenchmarkSettings"
    rows: "Sequence[Row]"
    lines: "dict[str, Line]"
    crossover: float | None
    most_heads: int


def timing_figure(timing: Timing, ink: Ink) -> go.Figure:
    """The chart; without rows its skeleton, which has the same traces in the same order.

    Args:
        timing: what to show.
        ink: the page's colours.
    """
    names = timing.settings.implementations
    by_name = [_traces(timing, name, ink) for name in names]
    layers = zip(*by_name, strict=True)  # all bands below all lines below all points
    figure = go.Figure([trace for layer in layers for trace in layer])
    figure.add_trace(_failures(timing, ink))
    figure.update_layout(_layout(timing, ink))
    return figure


def hover(timing: Timing, m: "Measurement", ratio: float | None) -> str:
    """Everything about one point."""
    from attention.benchmark.summary import number

    heads = f"{m.num_heads} {'head' if m.num_heads == 1 else 'heads'}"
    said = [f"<b>{_title(m.implementation)}, {heads}</b> of head_dim {m.head_dim}, d_out {m.d_out}"]
    if m.ok:
        said.append(
            f"{number(m.median)} ms (p10 {number(m.p10)}, p90 {number(m.p90)}; "
            f"{len(m.samples)} samples)"
        )
    if ratio is not None and m.implementation == "looped":
        said.append(f"{number(ratio)}× the batch's time")
    said += [_equality(m)] if m.equal is not None else []
    said += [escaped(reason) for reason in (m.disturbed, m.error) if reason]
    return "<br>".join(said)


def _equality(m: "Measurement") -> str:
    verdict = "equal" if m.equal else "NOT EQUAL"
    pattern = ""
    if m.pattern_difference is not None:
        pattern = f", pattern {m.pattern_difference:.1e}"
    return f"{verdict} to float64: max |Δ| output {m.output_difference:.1e}{pattern}"


def _title(name: str) -> str:
    from attention.implementations import IMPLEMENTATIONS

    return IMPLEMENTATIONS[name].title


def _traces(timing: Timing, name: str, ink: Ink) -> list[go.Scatter]:
    """Band, straight line, points, and what stands for them in the legend."""
    look = mark(name)
    timed = [(row, row.by_name[name]) for row in timing.rows if _timed(row, name)]
    heads = [m.num_heads for _, m in timed]
    line = timing.lines.get(name)
    band = go.Scatter(
        x=heads + heads[::-1],
        y=[m.p90 for _, m in timed] + [m.p10 for _, m in reversed(timed)],
        fill="toself",
        fillcolor=_faint(look.colour),
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        legendgroup=name,
        showlegend=False,
    )
    ends = [heads[0], heads[-1]] if line is not None else []
    fitted = go.Scatter(
        x=ends,
        y=[line.at(end) for end in ends] if line is not None else [],
        mode="lines",
        line={"color": look.colour, "dash": "dash", "width": 1.5},
        hoverinfo="skip",
        legendgroup=name,
        showlegend=False,
    )
    points = go.Scatter(
        x=heads,
        y=[m.median for _, m in timed],
        mode="markers",
        marker={
            "color": [ink.page if m.disturbed else look.colour for _, m in timed],
            "line": {"color": look.colour, "width": 2},
            "symbol": look.symbol,
            "size": 10,
            "opacity": 1,
        },
        hovertext=[hover(timing, m, row.ratio) for row, m in timed],
        hoverinfo="text",
        legendgroup=name,
        showlegend=False,
    )
    key = go.Scatter(
        x=[None],
        y=[None],
        mode="markers",
        marker={"color": look.colour, "symbol": look.symbol, "size": 10},
        name=_legend(name, line),
        legendgroup=name,
    )
    return [band, fitted, points, key]


def _legend(name: str, line: "Line | None") -> str:
    from attention.benchmark.summary import number

    if line is None:
        return _title(name)
    fitness = "" if line.r_squared is None else f", R² {line.r_squared:.3f}"
    return f"{_title(name)}: {number(line.slope)} ms a head{fitness}"


def _timed(row: "Row", name: str) -> bool:
    return name in row.by_name and row.by_name[name].ok


def _failures(timing: Timing, ink: Ink) -> go.Scatter:
    """A red cross for each result that differs or is missing: on the axis, as it has no time."""
    failed = [m for row in timing.rows for m in row.by_name.values() if not m.ok]
    return go.Scatter(
        x=[m.num_heads for m in failed],
        y=[0] * len(failed),
        mode="markers",
        marker={"color": ink.wrong, "symbol": "x", "size": 13},
        cliponaxis=False,
        name="Failed: no time",
        hovertext=[hover(timing, m, None) for m in failed],
        hoverinfo="text",
        showlegend=bool(failed),
    )


def _layout(timing: Timing, ink: Ink) -> dict[str, Any]:
    passes = "forward pass" if timing.settings.passes == "forward" else "forward and backward pass"
    axis = {
        "gridcolor": ink.line,
        "linecolor": ink.line,
        "tickfont": {"size": FONT_PX, "color": ink.muted},
        "title": {"font": {"size": FONT_PX, "color": ink.text}},
        "zeroline": False,
        "rangemode": "tozero",
    }
    # A range that the reader zoomed stays while points are added, not in another benchmark.
    revision = repr((timing.settings.family, timing.most_heads))
    return {
        "template": None,
        "height": HEIGHT_PX,
        "margin": {"l": 56, "r": 16, "t": 8, "b": 48},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": ink.text, "size": FONT_PX, "family": FONT},
        "hoverlabel": {
            "align": "left",
            "bgcolor": ink.page,
            "font": {"color": ink.text, "family": FONT, "size": FONT_PX},
        },
        "modebar": {
            "bgcolor": "rgba(0,0,0,0)",
            "color": ink.muted,
            "activecolor": ink.text,
        },
        "legend": {"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom", "itemclick": False},
        "xaxis": _named(
            axis,
            "heads",
            range=[0, timing.most_heads * 1.04],
            dtick=_tick(timing.most_heads),
            showgrid=False,
        ),
        "yaxis": _named(axis, f"ms per {passes}", range=[0, _top(timing)], nticks=6),
        "uirevision": revision,
        **_crossover(timing, ink),
    }


def _named(axis: dict[str, Any], title: str, **more: object) -> dict[str, Any]:
    return {**axis, **more, "title": {**axis["title"], "text": title}}


def _crossover(timing: Timing, ink: Ink) -> dict[str, Any]:
    """A dotted line where loop and batch change places."""
    at = timing.crossover
    if at is None:
        return {"shapes": [], "annotations": []}
    line = {"color": ink.muted, "dash": "dot", "width": 1}
    shape = {"type": "line", "x0": at, "x1": at, "y0": 0, "y1": 1, "yref": "paper", "line": line}
    note = {
        "x": at,
        "y": 1,
        "yref": "paper",
        "yanchor": "top",
        "xanchor": "left",
        "showarrow": False,
        "text": f" crossover: about {at:.1f} heads",
        "font": {"color": ink.muted, "size": FONT_PX - 1},
    }
    return {"shapes": [shape], "annotations": [note]}


def _tick(most: int) -> int:
    return next(step for step in (1, 2, 4, 8, 16, 32, 64) if most <= step * 12 or step == 64)


def _top(timing: Timing) -> float:
    """Where the axis of times ends: a round number, and no higher than a wild p90 deserves."""
    timed = [m for row in timing.rows for m in row.by_name.values() if m.ok]
    if not timed:
        return 1.0
    middle = max(m.median for m in timed)
    wanted = max(1.1 * middle, min(1.05 * max(m.p90 for m in timed), 2 * middle))
    power = 10.0 ** len(str(int(wanted))) / 10 if wanted >= 1 else 1.0
    while power > wanted:
        power /= 10
    return next(step * power for step in STEPS if step * power >= wanted)


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{BAND_OPACITY})"
