"""The tokens as chips and the text itself, shaded by what the chosen token looks at."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from components import state
from components.looks import Look, Weights
from components.mounting import event, mount, pack
from components.theme import Ink

if TYPE_CHECKING:
    from attention.tokens import Tokens

KEY, SHADES = "strip", "shades"
STEPS = 250  # shades


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
    mount("strip", KEY, strip_data(tokens), {"query": _choose})
    mount("shades", SHADES, pack(*shades_data(tokens, row, look, top, ink)))


def _choose() -> None:
    place = event(KEY, "query")
    if isinstance(place, int) and place >= 0:
        state.put("query", place)


def strip_data(tokens: "Tokens") -> dict[str, Any]:
    """What stays the same while one text is looked at."""
    return {
        "run": _name(tokens),
        "labels": list(tokens.labels),
        "text": tokens.text,
        "offsets": [list(span) for span in tokens.offsets],
    }


def shades_data(
    tokens: "Tokens", row: Row, look: Look, top: float, ink: Ink
) -> tuple[dict[str, Any], bytes]:
    """What one token looks at: a header; the weights as float32, then a byte a shade."""
    header = {
        "run": _name(tokens),
        "count": len(tokens),
        "steps": STEPS,
        "query": row.query,
        "first": row.first,
        "window": row.window,
        "heat": ink.heat,
        "accent": ink.accent,
    }
    weights = np.ascontiguousarray(row.weights, dtype="<f4")
    shades = np.round(np.nan_to_num(look.position(row.weights, top)) * STEPS).astype(np.uint8)
    return header, weights.tobytes() + shades.tobytes()


def _name(tokens: "Tokens") -> str:
    """No other text's: what is looked at in one is not drawn over another."""
    return str(hash(tokens))
