"""A page with nothing but the map of all heads and its link, on weights that are made up.

`?layers=30&heads=32&side=64&large=1&done=3`: its sizes, and how many layers are there at first;
`&late=1`: its link waits for a click.
"""

from pathlib import Path

import numpy as np
import streamlit as st

from components import state, theme
from components.chosen import Chosen
from components.figures.overview import Overview
from components.looks import Look
from components.parts import overview

ROOT = Path(__file__).parents[2]
HABITS = ("induction .94", "", "previous token .71", "")


def number(name: str, default: int) -> int:
    return int(st.query_params.get(name, default))


LAYERS, HEADS, SIDE = number("layers", 4), number("heads", 8), number("side", 22)


def thumbnails() -> np.ndarray:
    """Faint rows, a stronger diagonal a head's number of cells back, one full cell a head."""
    back = np.arange(SIDE)[:, None] - np.arange(SIDE)
    cells = np.full((LAYERS, HEADS, SIDE, SIDE), 0.02, dtype=np.float32)
    for layer in range(LAYERS):
        for head in range(HEADS):
            cells[layer, head][back == (layer + head) % SIDE] = 0.3 + 0.6 * head / HEADS
            cells[layer, head, SIDE - 1 - layer % 3, head % (SIDE // 2)] = 1
            cells[layer, head, :, 0] += 0.1 * (layer % 4)
    cells[..., back < 0] = np.nan
    return cells


@st.fragment
def the_map() -> None:
    """Runs again only when there are more layers."""
    done = st.session_state.setdefault("done", number("done", LAYERS))
    st.session_state["maps"] = st.session_state.get("maps", 0) + 1
    tags = [[HABITS[(3 * layer + head) % 4] for head in range(HEADS)] for layer in range(LAYERS)]
    best = [[("first token", 0.31)] * HEADS] * LAYERS
    picture = Overview(thumbnails(), tags, best, range(done), run=f"run {done}")
    large = bool(number("large", 0))
    with st.container(width="stretch" if large else 320):
        overview.draw(picture, Look(), theme.ink(), large=large)
    st.button("One more layer", on_click=lambda: st.session_state.update(done=done + 1))


@st.fragment
def the_head() -> None:
    """Runs again when a head is chosen."""
    layer, head = state.whole("layer"), state.whole("head")
    st.text(f"Layer {layer} · head {head}; {st.session_state['maps']} maps drawn")
    for key, count in (("layer", LAYERS), ("head", HEADS)):
        st.number_input(key, 0, count - 1, key=state.slot(key), on_change=state.take, args=(key,))
    if not number("late", 0) or st.button("Link"):
        overview.link(Chosen(layer, head, 0), (LAYERS, HEADS))


st.set_page_config(layout="wide")
with st.container(key="styles"):
    st.html(ROOT / "assets" / "css" / "headscope.css")
state.begin()
left, right = st.columns([11, 10])
with left:
    the_map()
with right:
    the_head()
state.end()
