"""The map of layers × heads: every head at a glance, one click or arrow key away."""

import numpy as np
from numpy.typing import NDArray

from components import state
from components.chosen import Chosen
from components.looks import HIGHEST, LOWEST, MASKED, Look, Weights, packed
from components.mounting import event, mount, pack
from components.theme import Ink, lookup

KEY = "overview"
SIDE, SIDE_OF_MANY = 24, 10  # cells a side of each head, at most
MANY = 100  # heads whose tiles are so small that finer cells would be averaged away
LARGEST = 20  # px a side of each head, at most


def draw(thumbnails: Weights, tags: list[list[str]], chosen: Chosen, look: Look, ink: Ink) -> None:
    """Draw the map.

    Args:
        thumbnails: (layer, head, side, side), NaN where nothing is shown.
        tags: what each head does, [layer][head]; empty where nothing is clear.
        chosen: which head is framed.
        look: scale, logarithm and range, which all heads share.
        ink: the page's colours.
    """
    layers, heads, side, _ = thumbnails.shape
    header = {
        "layers": layers,
        "heads": heads,
        "side": side,
        "largest": LARGEST,
        "colours": HIGHEST + 1,
        "tags": tags,
        "chosen": [chosen.layer, chosen.head],
        "accent": ink.accent,
        "label": f"All heads: {layers} layers of {heads} heads. Arrow keys choose one.",
    }
    cells = packed(thumbnails, look, look.top(thumbnails))
    mount("overview", KEY, pack(header, palette(look.scale, ink).tobytes() + cells.tobytes()),
          {"head": _choose})  # fmt: skip


def side(heads: int) -> int:
    """Cells a side of each head, at most, where there are so many heads in all layers."""
    return SIDE if heads <= MANY else SIDE_OF_MANY


def palette(scale: str, ink: Ink) -> NDArray[np.uint8]:
    """Red, green, blue, alpha for each code of a packed cell."""
    colours = np.zeros((HIGHEST + 1, 4), dtype=np.uint8)
    colours[MASKED] = [*(int(ink.masked[i : i + 2], 16) for i in (1, 3, 5)), 255]
    colours[LOWEST:, :3] = lookup(scale, HIGHEST - LOWEST + 1)
    colours[LOWEST:, 3] = 255
    return colours


def _choose() -> None:
    sent = event(KEY, "head")
    if isinstance(sent, list) and len(sent) == 2 and all(isinstance(n, int) for n in sent):
        state.put("layer", max(0, sent[0]))
        state.put("head", max(0, sent[1]))
