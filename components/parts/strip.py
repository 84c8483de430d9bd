"""The tokens as chips and the text itself, shaded by what the chosen token looks at."""

from collections.abc import Sequence
from dataclasses import dataclass
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
Piece = tuple[str, float, bool, bool]  # text, shade, part of the query, out of its sight


@dataclass(frozen=True)
class Row:
    """What one token looks at.

    Attributes:
        weights: as shown; NaN where it cannot look.
        query: its place.
        window: how many tokens it may attend to, itself the last; None for all.
    """

    weights: Weights
    query: int
    window: int | None = None

    @property
    def first(self) -> int:
        """The first token that it may attend to."""
        return 0 if self.window is None else max(0, self.query + 1 - self.window)


def draw(tokens: "Tokens", row: Row, look: Look, top: float, ink: Ink) -> None:
    """Draw the strip.

    Args:
        tokens: what was run.
        row: what the query looks at.
        look: scale and logarithm.
        top: the end of the range.
        ink: the page's colours.
    """
    mount("strip", KEY, strip_data(tokens, row, look, top, ink), {"query": _choose})


def _choose() -> None:
    place = event(KEY, "query")
    if isinstance(place, int) and place >= 0:
        state.put("query", place)


def strip_data(tokens: "Tokens", row: Row, look: Look, top: float, ink: Ink) -> dict[str, Any]:
    """What the component shows; see `draw`."""
    shades = [round(float(s), 3) for s in np.nan_to_num(look.position(row.weights, top))]
    return {
        "labels": list(tokens.labels),
        "query": row.query,
        "first": row.first,
        "shades": shades,
        "said": [_said(row, place) for place in range(len(tokens))],
        "pieces": pieces(tokens.text, tokens.offsets, shades, row.query, first=row.first),
        "heat": ink.heat,
        "accent": ink.accent,
    }


def _said(row: Row, place: int) -> str:
    if place > row.query:
        return "cannot be looked at: a later token"
    if place < row.first:
        return f"cannot be looked at: before the window of {row.window} tokens"
    weight = row.weights[place]
    return "hidden: first token" if np.isnan(weight) else f"weight {weight:.3g}"


def pieces(
    text: str,
    offsets: Sequence[tuple[int, int]],
    shades: Sequence[float],
    query: int,
    *,
    first: int = 0,
) -> list[Piece]:
    """The text up to the last token shown, cut where the shade changes.

    A character that several tokens share (its bytes) has their shades together, 1 at most.
    What belongs to no token has no shade.

    Args:
        text: what was run.
        offsets: of each token in it.
        shades: of each token.
        query: the place of the token that looks.
        first: the first token in its sight.
    """
    end = max((stop for _, stop in offsets), default=0)
    shade = np.zeros(end)
    of_query, unseen = np.zeros(end, dtype=bool), np.ones(end, dtype=bool)
    for place, (start, stop) in enumerate(offsets):
        shade[start:stop] += shades[place]
        if first <= place <= query:
            unseen[start:stop] = False
        if place == query:
            of_query[start:stop] = True
    cuts = sorted({0, end, *(edge for span in offsets for edge in span)})
    return [
        (text[a:b], round(min(1.0, float(shade[a])), 3), bool(of_query[a]), bool(unseen[a]))
        for a, b in pairwise(cuts)
    ]
