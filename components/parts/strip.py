"""The tokens as chips and the text itself, shaded by what the chosen token looks at."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from components import state
from components.looks import Look, Weights
from components.mounting import event, mount
from components.theme import Ink

if TYPE_CHECKING:
    from attention.tokens import Tokens

KEY = "strip"
Piece = tuple[str, float, bool, bool]  # text, shade, part of the query, after it


def draw(tokens: "Tokens", row: Weights, query: int, look: Look, top: float, ink: Ink) -> None:
    """Draw the strip.

    Args:
        tokens: what was run.
        row: the query's weights as shown; NaN where it cannot look.
        query: its place.
        look: scale and logarithm.
        top: the end of the range.
        ink: the page's colours.
    """
    mount("strip", KEY, strip_data(tokens, row, query, look, top, ink), {"query": _choose})


def _choose() -> None:
    place = event(KEY, "query")
    if isinstance(place, int) and place >= 0:
        state.put("query", place)


def strip_data(
    tokens: "Tokens", row: Weights, query: int, look: Look, top: float, ink: Ink
) -> dict[str, Any]:
    """What the component shows; see `draw`."""
    shades = [round(float(s), 3) for s in np.nan_to_num(look.position(row, top))]
    return {
        "labels": list(tokens.labels),
        "query": query,
        "shades": shades,
        "said": [_said(row, place, query) for place in range(len(tokens))],
        "pieces": pieces(tokens.text, tokens.offsets, shades, query),
        "heat": ink.heat,
        "accent": ink.accent,
    }


def _said(row: Weights, place: int, query: int) -> str:
    if place > query:
        return "cannot be looked at: a later token"
    return "hidden: first token" if np.isnan(row[place]) else f"weight {row[place]:.3g}"


def pieces(
    text: str, offsets: Sequence[tuple[int, int]], shades: Sequence[float], query: int
) -> list[Piece]:
    """The text up to the last token shown, cut where the shade changes.

    A character that several tokens share (its bytes) has their shades together, 1 at most.
    What belongs to no token has no shade.
    """
    end = max((stop for _, stop in offsets), default=0)
    shade = np.zeros(end)
    of_query, after = np.zeros(end, dtype=bool), np.ones(end, dtype=bool)
    for place, (start, stop) in enumerate(offsets):
        shade[start:stop] += shades[place]
        if place <= query:
            after[start:stop] = False
        if place == query:
            of_query[start:stop] = True
    cuts = sorted({0, end, *(edge for span in offsets for edge in span)})
    return [
        (text[a:b], round(min(1.0, float(shade[a])), 3), bool(of_query[a]), bool(after[a]))
        for a, b in pairwise(cuts)
    ]
