"""What the tile viewer is sent: a max-pooled overview, the tile in view, exact weights."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention.errors import ConfigError
from components.long_head import LongHead, Survey, Tile
from components.looks import HIGHEST, LOG_FLOOR, LOWEST, Look, Weights, packed
from components.theme import Ink, lookup

MOST_EXACT = 256 * 256  # weights that go along with a tile, 4 bytes each
MOST_TILE_CELLS = 2048 * 2048  # of a tile; a screen has fewer
LISTED = 8  # keys that are named while a token is followed


@dataclass(frozen=True)
class Viewed:
    """What is looked at.

    Attributes:
        head: one head of a run.
        survey: of that head.
        labels: of the tokens.
        query: whose row is framed.
        look: how weights are shown.
        top: the end of the colour range.
    """

    head: LongHead
    survey: Survey
    labels: Sequence[str]
    query: int
    look: Look
    top: float

    @property
    def name(self) -> str:
        """Changes with everything that the cells' colours depend on."""
        return f"{self.survey.name} {self.look.log} {self.top:.9g}"

    @property
    def text(self) -> str:
        """Changes with the labels alone."""
        return str(hash(tuple(self.labels)))


@dataclass(frozen=True)
class Request:
    """What the browser asks for.

    Attributes:
        number: of the request; the answer repeats it.
        has: the name of what it has an overview of; empty where it has none.
        tile: what is to be drawn; None where what it has will do.
        exact: where exact weights are wanted; None where none are.
        fresh: whether the tile is asked for now, not only still in view.
    """

    number: int = 0
    has: str = ""
    tile: Tile | None = None
    exact: Tile | None = None
    fresh: bool = False

    @classmethod
    def read(cls, sent: object) -> "Request":
        """What the browser sent, whatever it is: nothing is asked for where it makes no sense."""
        if not isinstance(sent, dict):
            return cls()
        number, has = sent.get("number"), sent.get("has")
        return cls(
            number if isinstance(number, int) else 0,
            has if isinstance(has, str) else "",
            _tile(sent.get("tile")),
            _tile(sent.get("exact")),
            sent.get("fresh") is True,
        )


def _tile(sent: object) -> Tile | None:
    if not isinstance(sent, list) or len(sent) != 5 or not all(type(n) is int for n in sent):
        return None
    try:
        return Tile(*sent)
    except ConfigError:
        return None


def within(tile: Tile | None, seq_len: int) -> Tile | None:
    """A tile as far as the text goes; None where nothing is left of it, or far too much."""
    if tile is None or tile.top >= seq_len or tile.left >= seq_len:
        return None
    cut = replace(tile, bottom=min(tile.bottom, seq_len), right=min(tile.right, seq_len))
    return cut if np.prod(cut.shape) <= MOST_TILE_CELLS else None


def answer(
    viewed: Viewed, asked: Request, ink: Ink, *, sent: bool = False, labelled: bool = False
) -> tuple[dict[str, Any], bytes]:
    """The header and the body that `mounting.pack` makes one of.

    The body is exact weights (float32), the palette, the overview's cells, the tile's cells, each
    only as far as the header lists it. What the browser has already is not sent again.

    Args:
        viewed: what is looked at.
        asked: by the browser.
        ink: the page's colours.
        sent: whether this very request has been answered before, and nothing else has changed.
        labelled: whether the browser has the text's labels, of another head.
    """
    seq_len, new = len(viewed.labels), asked.has != viewed.name and not sent
    tile = within(asked.tile, seq_len) if new or (asked.fresh and not sent) else None
    exact = None if sent else within(asked.exact, seq_len)
    shown = None if tile is None else viewed.head.tile(tile)
    weights = None
    if tile is not None and shown is not None and shown.size <= MOST_EXACT:
        exact, weights = tile, shown
    elif exact is not None and np.prod(exact.shape) <= MOST_EXACT:
        weights = viewed.head.tile(exact)
    header = {
        **_words(viewed, ink),
        "number": asked.number,
        "name": viewed.name,
        "count": seq_len,
        "colours": HIGHEST + 1,
        "text": viewed.text,
        "labels": list(viewed.labels) if new and not labelled else None,
        "base": _place(Tile(0, 0, seq_len, seq_len, viewed.survey.by)) if new else None,
        "tile": None if tile is None else _place(tile),
        "exact": None if exact is None or weights is None else _place(exact),
    }
    parts = [
        b"" if weights is None else np.ascontiguousarray(weights, dtype="<f4").tobytes(),
        palette(viewed.look.scale).tobytes(),
        _cells(viewed.survey.overview, viewed) if new else b"",
        b"" if shown is None else _cells(shown, viewed),
    ]
    return header, b"".join(parts)


def _place(tile: Tile) -> list[int]:
    return [tile.top, tile.left, tile.bottom, tile.right, tile.by, *tile.shape]


def _cells(weights: Weights, viewed: Viewed) -> bytes:
    return packed(weights, viewed.look, viewed.top).tobytes()


def palette(scale: str) -> NDArray[np.uint8]:
    """Red, green, blue, alpha for each code; what is masked lets the hatching behind it through."""
    colours = np.zeros((HIGHEST + 1, 4), dtype=np.uint8)
    colours[LOWEST:, :3] = lookup(scale, HIGHEST - LOWEST + 1)
    colours[LOWEST:, 3] = 255
    return colours


def _words(viewed: Viewed, ink: Ink) -> dict[str, Any]:
    """What is written and framed, beside the cells."""
    look, top = viewed.look, viewed.top
    row = np.nan_to_num(viewed.head.row(viewed.query))
    order = np.argsort(-row, kind="stable")[:LISTED]
    return {
        "query": viewed.query,
        "keys": [[int(key), float(row[key])] for key in order if row[key] > 0],
        "window": viewed.head.record.window(viewed.head.layer),
        "hidden": look.hide_first,
        "of": " of the rest" if look.hide_first else "",
        "log": look.log,
        "floor": LOG_FLOOR,
        "lowest": LOWEST,
        "top": top,
        "scale": f"0 to {'1' if top == 1 else f'{top:.3g}, the largest of the layer'}"
        f"{', log scale' if look.log else ''}, in {HIGHEST - LOWEST + 1} colours",
        "accent": ink.accent,
        "hatch": ink.hatch,
        "ground": ink.page,
    }
