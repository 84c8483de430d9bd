"""The axes of the timing chart: where they end, and what is written beside them."""

from typing import TYPE_CHECKING, Any

from components.theme import Ink

if TYPE_CHECKING:
    from components.figures.timing import Timing

FONT_PX = 15
FONT = '"Source Sans", sans-serif'
CROSS = 18  # px: what failed stands on the axis of heads, above its numbers
LEGEND_PX = 60  # two lines of it, so that the picture stays where it is when one is added
# Where an axis may end, times a power of 10.
STEPS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


def layout(timing: "Timing", ink: Ink) -> dict[str, Any]:
    """Everything about the chart but its traces."""
    axis = {
        "gridcolor": ink.line,
        "linecolor": ink.line,
        "tickfont": {"size": FONT_PX, "color": ink.muted},
        "title": {"font": {"size": FONT_PX, "color": ink.text}},
        "zeroline": False,
        "separatethousands": True,
        "rangemode": "tozero",
    }
    # A range that the reader zoomed stays while points are added, not in another benchmark.
    revision = repr((timing.settings.family, timing.most_heads, timing.quantity.key))
    return {
        "template": None,
        "margin": {"l": 60, "r": 20, "t": LEGEND_PX, "b": 58},
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
            ticklabelstandoff=CROSS // 2,
            showgrid=False,
        ),
        "yaxis": _named(
            axis, timing.quantity.axis(timing.settings), range=[0, _top(timing)], nticks=6
        ),
        "uirevision": revision,
        **_crossover(timing, ink),
    }


def _named(axis: dict[str, Any], title: str, **more: object) -> dict[str, Any]:
    return {**axis, **more, "title": {**axis["title"], "text": title}}


def _crossover(timing: "Timing", ink: Ink) -> dict[str, Any]:
    """A dotted line where loop and batch change places."""
    at = timing.crossover
    if at is None or timing.quantity.key != "time":
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


def _top(timing: "Timing") -> float:
    """Where the axis ends: a round number, and no higher than a wild p90 deserves."""
    value = timing.quantity.value
    points = [*timing.points(), *timing.points_of_the_other()]
    values = [found for m in points if (found := value(m)) is not None]
    limits = [found for row in timing.rows if (found := timing.quantity.limit(row)) is not None]
    if not values:
        return 1.0
    middle = max(*values, 0.0)
    wanted = 1.1 * max(middle, *limits, 0.0)
    if timing.quantity.key == "time":
        wanted = max(wanted, min(1.05 * max(m.p90 for m in points if m.ok), 2 * middle))
    power = 10.0 ** len(str(int(wanted))) / 10 if wanted >= 1 else 1.0
    while power > wanted > 0:
        power /= 10
    return next((step * power for step in STEPS if step * power >= wanted), 1.0)
