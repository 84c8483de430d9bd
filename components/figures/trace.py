"""One forward pass over time: a lane for each head, an operator a bar, coloured by its kind."""

from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from components.figures.labels import TEXT_FONT, thinned
from components.theme import Ink

if TYPE_CHECKING:
    from attention.benchmark.trace import Operator, Trace

# Colours that colour-blind readers tell apart (Okabe and Ito).
COLOURS = {
    "GEMM": "#0072B2",
    "softmax": "#E69F00",
    "attention kernel": "#009E73",
    "arithmetic": "#CC79A7",
    "copies": "#D55E00",
}
FONT_PX = 14
LANE_PX = 24
ALL_LANES_PX = 600  # more lanes are thinner, so that they still make one picture
LEAST_LANE_PX = 3
GAPPED_LANE_PX = 8  # lower ones have no room for gaps between them
NAME_PX = 20  # a name beside the lanes
AROUND_PX = 130  # legend, axis and its title


def trace_figure(trace: "Trace", ink: Ink) -> go.Figure:
    """The operators of a pass in lanes.

    Args:
        trace: of one forward pass.
        ink: the page's colours.

    Returns:
        Lanes from the first head at the top to what belongs to no head at the bottom. The more
        heads, the thinner their lanes; where names would touch, some are left out.
    """
    lanes = lanes_of(trace)
    figure = go.Figure(
        [
            _bars(trace, kind, lanes)
            for kind in COLOURS
            if any(o.kind == kind for o in trace.operators)
        ]
    )
    figure.update_layout(_layout(trace, lanes, ink))
    return figure


def lanes_of(trace: "Trace") -> dict[int | None, str]:
    """The lanes by whose they are, from top to bottom."""
    heads: dict[int | None, str] = {head: f"head {head}" for head in sorted(trace.heads)}
    return {**heads, None: "all heads" if not heads else "layer"}


def lane_px(count: int) -> float:
    """How high a lane is, px."""
    return max(LEAST_LANE_PX, min(LANE_PX, ALL_LANES_PX / count))


def named(lanes: dict[int | None, str]) -> list[str]:
    """The lanes whose names are written: what belongs to no head, and as many heads as fit."""
    *heads, last = lanes.values()
    high = lane_px(len(lanes))
    most = int(len(heads) * high / NAME_PX)
    shown = thinned(len(heads), most) if heads else []
    return [*(heads[at] for at in shown if (len(heads) - at) * high >= NAME_PX), last]


def _bars(trace: "Trace", kind: str, lanes: dict[int | None, str]) -> go.Bar:
    shown = [o for o in trace.operators if o.kind == kind and o.head in lanes]
    return go.Bar(
        base=[o.start for o in shown],
        x=[o.end - o.start for o in shown],
        y=[lanes[o.head] for o in shown],
        orientation="h",
        name=kind,
        marker={"color": COLOURS[kind], "line": {"width": 0}},
        hovertext=[hover(o, lanes[o.head]) for o in shown],
        hoverinfo="text",
    )


def hover(operator: "Operator", lane: str) -> str:
    """Everything about one bar."""
    return (
        f"<b>{operator.name}</b> ({operator.kind}), {lane}<br>"
        f"{operator.start:,.0f} to {operator.end:,.0f} µs: "
        f"{operator.end - operator.start:,.1f} µs, thread {operator.thread}"
    )


def _layout(trace: "Trace", lanes: dict[int | None, str], ink: Ink) -> dict[str, Any]:
    font = {"size": FONT_PX, "color": ink.text, "family": TEXT_FONT}
    axis = {
        "gridcolor": ink.line,
        "linecolor": ink.line,
        "tickfont": {"size": FONT_PX, "color": ink.muted},
        "zeroline": False,
    }
    lane = lane_px(len(lanes))
    return {
        "template": None,
        "barmode": "overlay",
        "bargap": 0.25 if lane >= GAPPED_LANE_PX else 0.0,
        "height": AROUND_PX + round(lane * len(lanes)),
        "margin": {"l": 80, "r": 16, "t": 8, "b": 48},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": font,
        "hoverlabel": {"align": "left", "bgcolor": ink.page, "font": font},
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": ink.muted, "activecolor": ink.text},
        "legend": {"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom"},
        "xaxis": {
            **axis,
            "range": [0, trace.span],
            "tickformat": ",",
            "title": {"text": "µs after the pass began, under the profiler", "font": font},
        },
        "yaxis": {
            **axis,
            "categoryorder": "array",
            "categoryarray": list(reversed(lanes.values())),
            "tickmode": "array",
            "tickvals": named(lanes),
            "range": [-0.5, len(lanes) - 0.5],
            "showgrid": False,
        },
    }
