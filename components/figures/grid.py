"""All heads of a layer as small multiples: one figure, one tiled heatmap trace, one range."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from components.figures.drawing import Drawing
from components.figures.labels import PLAIN, escaped
from components.looks import GAP, HIGHEST, LOWEST, MASKED, Look, Weights, packed
from components.theme import Ink, colorscale

THUMBNAIL = 64  # cells a side, at most
MOST_WHOLE_TAGS, MOST_TAGGED = 5, 8  # thumbnails beside each other that have room for their tags
SHAPE = 2.2  # of the place that a laptop's window leaves for the grid: width over height


@dataclass(frozen=True)
class Tiling:
    """Where each head's thumbnail lies, in cells.

    Attributes:
        heads: how many thumbnails.
        side: cells a thumbnail has a side.
    """

    heads: int
    side: int

    @property
    def columns(self) -> int:
        """Thumbnails beside each other: as many as make them largest in the page's place."""
        return max(range(1, self.heads + 1), key=lambda n: (self._largest(n), -n))

    def _largest(self, columns: int) -> float:
        """How large a thumbnail with its margins is in a place SHAPE times as wide as high."""
        rows = -(-self.heads // columns)
        return min(SHAPE * self.pitch_y / (self.pitch_x * columns), 1 / rows)

    @property
    def rows(self) -> int:
        """Thumbnails above each other."""
        return -(-self.heads // self.columns)

    @property
    def pitch_x(self) -> int:
        """Cells from one thumbnail to the next beside it."""
        return self.side + max(1, round(self.side * 0.08))

    @property
    def pitch_y(self) -> int:
        """Cells from one thumbnail to the next below it; leaves a line for the tag."""
        return self.side + max(1, round(self.side * 0.2))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of cells in all; the last row has its tags below it."""
        return self.rows * self.pitch_y, self.columns * self.pitch_x - (self.pitch_x - self.side)

    def corner(self, head: int) -> tuple[int, int]:
        """Row and column of a thumbnail's upper left cell."""
        row, column = divmod(head, self.columns)
        return row * self.pitch_y, column * self.pitch_x


def tiled(thumbnails: Weights, look: Look, top: float) -> NDArray[np.uint8]:
    """All thumbnails in one array of bytes: GAP between them, MASKED where nothing is shown."""
    tiling = Tiling(len(thumbnails), thumbnails.shape[-1])
    cells = np.full(tiling.shape, GAP, dtype=np.uint8)
    for head, tile in enumerate(packed(thumbnails, look, top)):
        row, column = tiling.corner(head)
        cells[row : row + tiling.side, column : column + tiling.side] = tile
    return cells


def grid_figure(
    thumbnails: Weights,
    tags: Sequence[str],
    *,
    look: Look,
    top: float,
    ink: Ink,
    names: Sequence[str] = (),
) -> Drawing:
    """The heads of one layer, or of several with a name each.

    Hover and click belong to the page's bridge, which knows the exact weights; the frame
    around the chosen head too, so that choosing draws nothing anew.

    Args:
        thumbnails: (head, side, side), NaN where nothing is shown.
        tags: what to write under each head; may be empty.
        look: scale and logarithm.
        top: the end of the range that all heads share.
        ink: the page's colours.
        names: what is written in each head's corner; its number where there are none.
    """
    tiling = Tiling(len(thumbnails), thumbnails.shape[-1])
    rows, columns = tiling.shape
    edge = 0.5 + 0.04 * tiling.side  # room for the frame of a head at the edge
    axis = {"visible": False, "fixedrange": True}
    trace = {
        "type": "heatmap",
        "z": tiled(thumbnails, look, top),
        "zmin": GAP,
        "zmax": HIGHEST,
        "colorscale": _scale_with_masks(look.scale, ink),
        "showscale": False,
        "hoverinfo": "none",  # no label of Plotly's own, but its events
    }
    layout = {
        **PLAIN,
        "margin": {"l": 2, "r": 2, "t": 2, "b": 2},
        "dragmode": False,
        "xaxis": {
            "range": [-edge, columns - 1 + edge],
            "constrain": "domain",
            "constraintoward": "left",
            **axis,
        },
        "yaxis": {
            "range": [rows - 0.5, -edge],
            "scaleanchor": "x",
            "constrain": "domain",
            "constraintoward": "top",
            **axis,
        },
        "annotations": [
            *_numbers(tiling, names or range(tiling.heads), ink),
            *_tags(tiling, tags, ink),
        ],
    }
    return {"data": [trace], "layout": layout}


def _scale_with_masks(scale: str, ink: Ink) -> list[tuple[float, str]]:
    """The scale from LOWEST to HIGHEST, below it one flat colour each for MASKED and GAP."""
    first, masked = (LOWEST - 0.5) / HIGHEST, (MASKED - 0.5) / HIGHEST
    clear = "rgba(0,0,0,0)"
    lowest = LOWEST / HIGHEST
    steps = [(lowest + at * (1 - lowest), colour) for at, colour in colorscale(scale)]
    return [
        (0.0, clear), (masked, clear), (masked, ink.masked), (first, ink.masked),
        (first, steps[0][1]), *steps,
    ]  # fmt: skip


def _numbers(tiling: Tiling, names: Sequence[object], ink: Ink) -> list[dict[str, object]]:
    """Each head's number, in the corner that the causal mask leaves empty."""
    found = []
    for head, name in enumerate(names or range(tiling.heads)):
        row, column = tiling.corner(head)
        found.append(
            {
                "x": column + tiling.side - 0.5,
                "y": row - 0.5,
                "text": f"<b>{name}</b>",
                "xanchor": "right",
                "yanchor": "top",
                "showarrow": False,
                "font": {"size": 13, "color": ink.text},
            }
        )
    return found


def fitting(tag: str, columns: int) -> str:
    """A tag that does not run into the next one: the whole, without "token", or nothing."""
    if columns > MOST_TAGGED:
        return ""
    return tag if columns <= MOST_WHOLE_TAGS else tag.replace(" token", "")


def _tags(tiling: Tiling, tags: Sequence[str], ink: Ink) -> list[dict[str, object]]:
    found = []
    for head, tag in enumerate(tags):
        row, column = tiling.corner(head)
        found.append(
            {
                "x": column + (tiling.side - 1) / 2,
                "y": row + tiling.side - 0.5,
                "text": escaped(fitting(tag, tiling.columns)),
                "xanchor": "center",
                "yanchor": "top",
                "showarrow": False,
                "font": {"size": 11, "color": ink.muted},
            }
        )
    return found
