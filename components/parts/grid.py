"""All heads of the chosen layer; a click opens one, the hover names exact weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st

from components.figures.drawing import Drawing, as_json
from components.figures.grid import THUMBNAIL, Tiling, grid_figure
from components.live import fall_back, place_chart
from components.looks import Look, Weights, blocks_seen, step
from components.mounting import mount, pack
from components.parts.overview import CHANNEL
from components.theme import Ink

CHART, LINK = "grid", "grid_link"
OPTIONS = {"displayModeBar": False}


@dataclass(frozen=True)
class Seen:
    """The tokens of a run, as the queries of a layer see them.

    Attributes:
        labels: of the tokens.
        window: how many a query may attend to, its own the last; None for all.
    """

    labels: Sequence[str]
    window: int | None = None

    @property
    def step(self) -> int:
        """How many tokens a side one cell of a thumbnail covers."""
        return step(len(self.labels), THUMBNAIL)


@dataclass(frozen=True)
class Grid:
    """What the page needs of a grid.

    Attributes:
        figure: the heads.
        ratio: width over height.
        data: what the component is sent.
    """

    figure: Drawing
    ratio: float
    data: bytes


def make(
    thumbnails: Weights,
    tags: Sequence[str],
    tokens: Seen,
    *,
    run: str,
    layer: int,
    look: Look,
    ink: Ink,
) -> Grid:
    """A grid, to be drawn again and again.

    Args:
        thumbnails: (head, side, side), NaN where nothing is shown.
        tags: what each head does; empty where nothing is clear.
        tokens: their labels, and how many of them a query may attend to.
        run: a name that no other text's has.
        layer: which layer, from 0.
        look: how weights are shown; all heads share one range.
        ink: the page's colours.
    """
    top = look.top(thumbnails)
    figure = grid_figure(thumbnails, tags, look=look, top=top, ink=ink)
    described = "; ".join(
        f"head {head}: {tag or 'no clear habit'}" for head, tag in enumerate(tags)
    )
    tiling = Tiling(len(thumbnails), thumbnails.shape[-1])
    rows, columns = tiling.shape
    header = {
        "chart": CHART,
        "kind": "grid",
        "figure": as_json(figure),
        "channel": CHANNEL,
        "run": run,
        "layer": layer,
        "heads": tiling.heads,
        "side": tiling.side,
        "pitchX": tiling.pitch_x,
        "pitchY": tiling.pitch_y,
        "columns": tiling.columns,
        "step": tokens.step,
        "window": tokens.window,
        "reach": blocks_seen(tokens.window, tokens.step),
        "labels": list(tokens.labels),
        "of": " of the rest" if look.hide_first else "",
        "accent": ink.accent,
        "label": f"Layer {layer}, {len(tags)} heads. Arrow keys choose one. {described}",
    }
    exact = np.ascontiguousarray(thumbnails, dtype="<f4").tobytes()
    return Grid(figure, columns / rows, pack(header, exact))


def draw(grid: Grid) -> None:
    """Draw the grid. Which head is framed, and a choice, is told by `overview.link`."""
    with st.container(key="grid_place"):
        # As high as its width asks for; the rest of the chart's style is in assets/css.
        st.html(f"<style>.st-key-grid_place {{ --ratio: {grid.ratio:.3f}; }}</style>")
        alt = "The heads of a layer, a small map each."
        place_chart(CHART, grid.figure, options=OPTIONS, alt=alt)
    mount("chart", LINK, grid.data, {"missing": partial(fall_back, CHART)})


def legend(tokens: Seen, look: Look, top: float) -> str:
    """What the colours and the cells stand for."""
    end = f"{top:.3g}, the largest in this layer" if look.to_maximum else "1"
    by = tokens.step
    cell = f" Each cell is the largest of {by} × {by} weights." if by > 1 else ""
    scale = ", log scale" if look.log else ""
    rest = " First token hidden, the rest renormalised." if look.hide_first else ""
    window = tokens.window
    reach = "" if window is None else f" Each token sees the last {window} up to itself, not all."
    return f"Colour: weight from 0 to {end}{scale}, the same for all heads.{cell}{rest}{reach}"
