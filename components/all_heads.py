"""All heads of all layers: the map, which fills while layers are looked at, and what it says."""

import numpy as np
import streamlit as st

from components import resources, sentences
from components.figures.overview import Overview
from components.messages import plain
from components.parts import overview
from components.scanning import Scan
from components.shown import Shown
from components.waiting import again_soon, catch_up

AGAIN_MS, AGAIN_LARGE_MS = 250, 1000  # until the map of a text that is still looked at is sent anew
WAITED = "all_heads_waited"


@st.fragment
def draw_all_heads(view: Shown, *, large: bool = False) -> None:
    """Draw the map, again and again until every layer has been looked at.

    Args:
        view: the run, and how it is shown.
        large: in the place of the layer's heads; small beside the choice of layer and head.
    """
    catch_up()
    scan = view.scan
    resources.reader().look_at(scan)
    missing, waited = bool(scan.missing), f"{WAITED}_{large}"
    if missing:
        st.session_state[waited] = True
    elif st.session_state.pop(waited, False):
        st.rerun()  # what is told of all heads can be told now
    shown = scan.once(("picture", len(scan.done)), lambda: picture(view))
    overview.draw(shown, view.look, view.ink, large=large, once=scan.once)
    if large:
        table = st.expander("All heads as a table", on_change="rerun", key="all_heads_table")
        if table.open:
            table.code(shown.table(), language=None)
    if missing:
        _wait(scan, large=large)


def picture(view: Shown) -> Overview:
    """As much of all heads as has been looked at."""
    scan, record = view.scan, view.record
    done = scan.done
    seen = {layer: scan.layer(layer) for layer in done}
    side = next(iter(seen.values())).thumbnails.shape[-1]
    cells = np.full((record.num_layers, record.num_heads, side, side), np.nan, dtype=np.float32)
    for layer, one in seen.items():
        cells[layer] = one.thumbnails
    layers = range(record.num_layers)
    tags = [[sentences.tag(habit) for habit in seen[n].habits] if n in seen else [] for n in layers]
    best = [seen[n].best if n in seen else [] for n in layers]
    return Overview(cells, tags, best, done, scan.name)


def _wait(scan: Scan, *, large: bool) -> None:
    """Say how far it is, and have the fragment run again soon."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(plain(progress_of(scan)), width="content")
        name = "large" if large else "small"
        # In this order: the last layer may have come since the map was drawn.
        goes_on = scan.is_running or not scan.missing
        if goes_on:
            st.button("Stop", key=f"stop_{name}", type="tertiary", on_click=scan.stop)
        else:
            st.button("Go on", key=f"go_on_{name}", type="tertiary", on_click=scan.go_on)
    if goes_on:
        again_soon(f"again_{name}", AGAIN_LARGE_MS if large else AGAIN_MS)


def progress_of(scan: Scan) -> str:
    """How far the looking at all layers is, in words."""
    if scan.failure is not None:
        return str(scan.failure)
    said = f"{len(scan.done)} of {scan.num_layers} layers looked at"
    left = scan.seconds_left
    return said if left is None else f"{said}, about {max(1, round(left))} s left"
