"""The map of layers × heads: every head at a glance, one click or arrow key away.

Two components, so that a choice sends no picture again: the map itself, and its link to Python,
which belongs to the fragment that shows the chosen head. They find each other in the browser.
"""

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from components import state
from components.chosen import Chosen
from components.figures.overview import NOT_YET, Overview, palette, plain_picture
from components.looks import HIGHEST, Look
from components.messages import plain
from components.mounting import event, mount, pack
from components.theme import Ink

KEY, LARGE_KEY, LINK, MISSING = "overview", "overview_large", "overview_link", "overview_missing"
CHANNEL = "heads"  # where the pictures and the link find each other
SIDE, SIDE_OF_MANY, SIDE_OF_LARGE = 24, 10, 64  # cells a side of each head, at most
MANY = 100  # heads whose tiles in the small map have fewer pixels than SIDE
LARGEST, LARGEST_OF_LARGE = 20, 160  # px a side of each head, at most


def data(picture: Overview, look: Look, ink: Ink, *, large: bool = False) -> bytes:
    """What the component is sent of the map; see `draw`."""
    sent = cells(picture, look, large=large)
    header = _header(picture, ink, sent.shape[-1], large=large)
    return pack(header, palette(look.scale, ink).tobytes() + sent.tobytes())


def draw(
    picture: Overview,
    look: Look,
    ink: Ink,
    *,
    large: bool = False,
    once: Callable[[Hashable, Callable[[], bytes]], bytes] = lambda _, make: make(),
) -> None:
    """Draw the map. A choice needs `link`, drawn in the fragment of the chosen head.

    Args:
        picture: all heads.
        look: scale, logarithm and range, which all heads share.
        ink: the page's colours.
        large: as wide as its place, and as high as `--headscope-map-height` in its style says.
        once: keeps what is sent by a key, where the map is drawn again and again.
    """
    if st.session_state.get(MISSING):
        st.image(plain_picture(picture, look, ink), width="content")
        words = "This browser cannot draw the map to click at, so here it is as it is"
        st.caption(plain(f"{words}: layers down, heads across. {picture.described()}"))
        return
    key = LARGE_KEY if large else KEY
    made = (key, look, ink, tuple(picture.layers))
    sent = once(made, lambda: data(picture, look, ink, large=large))
    mount("overview", key, sent, {"missing": _give_up})


def link(chosen: Chosen, shape: tuple[int, int]) -> None:
    """Tell the maps which head is framed, and take the choice from them; draws nothing.

    Args:
        chosen: what is looked at.
        shape: layers, and heads in each; a choice beyond them is of a picture that has gone.
    """
    told = {"name": CHANNEL, "value": [chosen.layer, chosen.head], "event": "head"}
    mount("link", LINK, told, {"head": partial(_choose, shape)})


def side(heads: int, *, large: bool = False) -> int:
    """Cells a side of each head, at most, where there are so many heads in all layers."""
    if large:
        return SIDE_OF_LARGE
    return SIDE if heads <= MANY else SIDE_OF_MANY


def cells(picture: Overview, look: Look, *, large: bool = False) -> NDArray[np.uint8]:
    """What is sent of the heads: a byte a cell of each layer that is there."""
    layers, heads = picture.shape
    return picture.cells(look, side(layers * heads, large=large))


def _header(picture: Overview, ink: Ink, side: int, *, large: bool) -> dict[str, Any]:
    layers, heads = picture.shape
    done = picture.layers
    return {
        "channel": CHANNEL,
        "layers": layers,
        "heads": heads,
        "side": side,
        "done": done,
        "run": picture.run,
        "large": large,
        "largest": LARGEST_OF_LARGE if large else LARGEST,
        "colours": HIGHEST + 1,
        "words": {layer: [picture.words(layer, head) for head in range(heads)] for layer in done},
        "waiting": NOT_YET,
        "accent": ink.accent,
        "faint": ink.line,
        "label": f"All heads: {layers} layers of {heads} heads. Arrow keys choose one, Home and "
        "End the first and the last of a layer, Enter at once.",
        "described": picture.described(),
    }


def _choose(shape: tuple[int, int]) -> None:
    sent = event(LINK, "head")
    if not isinstance(sent, list) or len(sent) != 2 or not all(type(n) is int for n in sent):
        return
    if 0 <= sent[0] < shape[0] and 0 <= sent[1] < shape[1]:
        state.put("layer", sent[0])
        state.put("head", sent[1])


def _give_up() -> None:
    st.session_state[MISSING] = True
