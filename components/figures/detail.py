"""One head, large: a heatmap with a token on every row and column."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from components.figures.drawing import Drawing
from components.figures.labels import CODE_FONT, PLAIN, escaped, shortened, thinned
from components.looks import LOG_FLOOR, Look, Weights, blocks_seen, pooled, step
from components.theme import Ink, colorscale

MOST_LABELS = 48  # a side; more would overlap
MOST_CELLS = 512  # a side; more take the browser seconds to draw


@dataclass(frozen=True)
class Detail:
    """What the picture shows.

    Attributes:
        weights: (query, key), a cell for each pair of tokens; NaN where nothing is drawn.
        labels: of the tokens, in the order of the text.
        look: scale, logarithm, hidden first token.
        top: the end of the colour range.
        window: how many tokens a query may attend to, its own the last; None for all.
    """

    weights: Weights
    labels: Sequence[str]
    look: Look
    top: float
    window: int | None = None

    @property
    def reach(self) -> int | None:
        """How many cells of a row the window reaches into; None for all."""
        return blocks_seen(self.window, self.step)

    @property
    def step(self) -> int:
        """How many tokens a side one cell of the picture covers: 1 up to MOST_CELLS tokens."""
        return step(len(self.labels), MOST_CELLS)


def detail_figure(detail: Detail, ink: Ink) -> Drawing:
    """One head's pattern: queries downward, keys to the right, square cells.

    The axes are numeric, so that equal words keep rows of their own. A text of more than
    MOST_CELLS tokens is max-pooled, and the colour bar says so. Cells that a query cannot
    look at are gaps, hatched. Hover and click belong to the page's bridge, which knows all
    labels; the frame around the chosen row too.

    Args:
        detail: what to show.
        ink: the page's colours.
    """
    weights = pooled(detail.weights, MOST_CELLS)
    firsts = detail.labels[:: detail.step]
    count = len(firsts)
    at = thinned(count, MOST_LABELS)
    axis = {
        "tickmode": "array",
        "tickvals": at,
        "ticktext": [escaped(shortened(firsts[i])) for i in at],
        "tickfont": {"family": CODE_FONT, "size": 12 if len(at) <= 26 else 9, "color": ink.text},
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "automargin": True,
        "ticklabeloverflow": "allow",  # the margins are wide enough; to look costs half the drawing
        "constrain": "domain",
    }
    ends = [-0.5, count - 0.5]
    layout = {
        **PLAIN,
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "showlegend": False,
        "dragmode": "zoom",
        "xaxis": {**axis, "range": ends, "autotickangles": [0, 90]},
        "yaxis": {**axis, "range": ends[::-1], "scaleanchor": "x", "constraintoward": "top"},
        # What was zoomed into stays in view while other heads of the text are looked at.
        "uirevision": "\n".join(detail.labels),
    }
    traces = [*_hatches(count, detail, ink), _heatmap(weights, detail, ink)]
    return {"data": traces, "layout": layout}


def _heatmap(weights: Weights, detail: Detail, ink: Ink) -> Drawing:
    """The weights; on a log scale their places on it, with the weights beside them."""
    look, top = detail.look, detail.top
    beside = {"customdata": weights} if look.log else {}
    return {
        "type": "heatmap",
        "z": look.position(weights, top) if look.log else weights,
        **beside,
        "zmin": 0,
        "zmax": 1 if look.log else top,
        "colorscale": colorscale(look.scale),
        "hoverinfo": "none",  # no label of Plotly's own, but its events
        "hoverongaps": True,
        "colorbar": _colorbar(detail, ink),
    }


def _colorbar(detail: Detail, ink: Ink) -> dict[str, object]:
    look, top, by = detail.look, detail.top, detail.step
    end = "1" if top == 1 else f"{top:.3g}, the largest of the layer"
    rest = "<br>first token hidden, rest renormalised" if look.hide_first else ""
    scale = ", log scale" if look.log else ""
    cells = f"<br>a cell is the largest of {by} × {by}" if by > 1 else ""
    bar: dict[str, object] = {
        "thickness": 8,
        "len": 1,
        "outlinewidth": 0,
        "ticklabeloverflow": "allow",
        "tickfont": {"size": 10, "color": ink.muted},
        "title": {
            "text": f"weight, 0 to {end}{scale}{rest}{cells}",
            "side": "right",
            "font": {"size": 11, "color": ink.muted},
        },
    }
    if look.log:
        powers = [p for p in (1e-4, 1e-3, 1e-2, 1e-1, 1.0) if p <= top]
        at = look.position(np.array(powers, dtype=np.float32), top)
        bar["tickvals"] = [float(p) for p in at]
        bar["ticktext"] = [f"≤ {p:g}" if p == LOG_FLOOR else f"{p:g}" for p in powers]
    return bar


def _hatches(count: int, detail: Detail, ink: Ink) -> list[Drawing]:
    """The staircases of later tokens and of those before the window; the first token, if hidden."""
    x, y = _staircase(count - 1)
    found = [_hatched(x, y, "later token", ink)] if count > 1 else []
    if detail.reach is not None and detail.reach < count:
        y, x = _staircase(count - detail.reach)  # the other way round, and further down
        y = [place + detail.reach - 1 for place in y]
        found.append(_hatched(x, y, "before the window", ink))
    if detail.look.hide_first:
        column, rows = [-0.5, 0.5, 0.5, -0.5], [-0.5, -0.5, count - 0.5, count - 0.5]
        found.append(_hatched(column, rows, "first token, hidden", ink))
    return found


def _staircase(steps: int) -> tuple[list[float], list[float]]:
    """The outline above the diagonal: so many cells in the first row, one in the last."""
    x, y = [], []
    for row in range(steps):
        x += [row + 0.5, row + 0.5]
        y += [row - 0.5, row + 0.5]
    return [*x, steps + 0.5, steps + 0.5], [*y, steps - 0.5, -0.5]


def _hatched(x: list[float], y: list[float], name: str, ink: Ink) -> Drawing:
    return {
        "type": "scatter",
        "x": x,
        "y": y,
        "name": name,
        "mode": "lines",
        "line": {"width": 0},
        "fill": "toself",
        "fillpattern": {
            "shape": "/",
            "size": 6,
            "solidity": 0.15,
            "fgcolor": ink.hatch,
            "bgcolor": "rgba(0,0,0,0)",
        },
        "hoverinfo": "skip",
    }
