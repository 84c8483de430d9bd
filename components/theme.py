"""Colours and marks: the same thing looks the same everywhere, in light and in dark."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from attention.colours import colour_of


@dataclass(frozen=True)
class Mark:
    """How an implementation is drawn.

    Attributes:
        colour: of its line, bar and points.
        symbol: the marker's shape, in Plotly's words.
        dash: the line's pattern, in Plotly's words.
    """

    colour: str
    symbol: str
    dash: str = "solid"


SYMBOLS = {
    "looped": "circle",
    "batched": "square",
    "sdpa": "diamond",
    "fused": "triangle-up",
    "reference": "cross",
    "looped_book": "triangle-down",
    "looped_sdpa": "triangle-left",
    "threads": "triangle-right",
    "streams": "hourglass",
    "einsum": "hexagon",
    "torch": "star",
    "vmap": "pentagon",
    "grouped": "diamond-tall",
    "flex": "diamond-wide",
    "capture": "star-diamond",
}
MARKS = {name: Mark(colour_of(name), symbol) for name, symbol in SYMBOLS.items()}
SPARE = Mark(colour_of(""), "x")  # an implementation that nobody has given a mark yet


@dataclass(frozen=True)
class Ink:
    """The page's colours that figures need.

    Attributes:
        text: labels and numbers.
        muted: captions, grid lines' labels.
        line: grid lines and borders.
        page: the page behind a figure.
        hatch: lines over cells that cannot be attended to.
        masked: such cells where they are too small for lines; unlike any scale's lowest colour.
        accent: the frame of what is chosen.
        heat: red, green, blue of the heat behind tokens.
        wrong: crosses where a result is not what it must be.
    """

    text: str
    muted: str
    line: str
    page: str
    hatch: str
    masked: str
    accent: str
    heat: str
    wrong: str


LIGHT = Ink(
    "#12141C", "#5B5F6E", "#D5D7E0", "#FFFFFF", "#C9CCD6", "#EEEFF4", "#D6006C", "255,176,0",
    "#C4001A",
)  # fmt: skip
DARK = Ink(
    "#E9EBF1", "#A3A8B8", "#393D4A", "#13151B", "#3A3F4D", "#262A35", "#FF5CA8", "255,176,0",
    "#FF6B6B",
)  # fmt: skip

# Ten steps each, dark to bright; printed and seen by colour-blind readers alike.
SCALES: dict[str, tuple[str, ...]] = {
    "cividis": (
        "#00224E", "#123570", "#3B496C", "#575D6D", "#707173",
        "#8A8678", "#A59C74", "#C3B369", "#E1CC55", "#FEE838",
    ),
    "viridis": (
        "#440154", "#482878", "#3E4989", "#31688E", "#26828E",
        "#1F9E89", "#35B779", "#6ECE58", "#B5DE2B", "#FDE725",
    ),
}  # fmt: skip


def mark(implementation: str) -> Mark:
    """How to draw an implementation."""
    return MARKS.get(implementation, SPARE)


def is_dark() -> bool:
    """Whether the reader's page is dark."""
    return st.context.theme.type == "dark"


def ink() -> Ink:
    """The colours of the reader's page."""
    return DARK if is_dark() else LIGHT


def colorscale(scale: str) -> list[tuple[float, str]]:
    """A scale as Plotly takes it: (0 to 1, colour) pairs."""
    colours = SCALES[scale]
    return [(i / (len(colours) - 1), colour) for i, colour in enumerate(colours)]


@cache
def lookup(scale: str, steps: int) -> NDArray[np.uint8]:
    """The same scale as `steps` colours for a canvas: (steps, 3), red green blue."""
    colours = [[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in SCALES[scale]]
    at = np.linspace(0, len(colours) - 1, steps)
    channels = [
        np.interp(at, range(len(colours)), channel) for channel in zip(*colours, strict=True)
    ]
    return np.stack(channels, axis=1).round().astype(np.uint8)
