"""Plotly charts whose figures change without being mounted anew: no flicker, and sooner there."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from components.figures.drawing import Drawing
from components.figures.labels import PLAIN
from components.mounting import mount

OPTIONS = {
    "displaylogo": False,
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
    # `save_as` offers PNG too; Plotly has room for one format.
    "toImageButtonOptions": {"format": "svg", "filename": "headscope-timing"},
}
EMPTY = go.Figure(layout={**PLAIN, "xaxis": {"visible": False}, "yaxis": {"visible": False}})


@dataclass(frozen=True)
class Underneath:
    """The figure that Streamlit holds while another grows over it, with its words.

    A change of either would mount the chart anew.
    """

    name: str
    figure: go.Figure
    alt: str


def place_chart(key: str, figure: Drawing, *, options: dict[str, Any], alt: str) -> None:
    """Draw the place of a chart over which a component draws the present figure.

    The component "chart" does, and asks for the figure itself where it cannot: see `fall_back`.

    Args:
        key: of the chart in the session.
        figure: what to show now.
        options: Plotly's own.
        alt: what the picture shows, in words, of any figure that is drawn here.
    """
    shown = go.Figure(figure) if st.session_state.get(f"{key}_missing") else EMPTY
    st.plotly_chart(shown, key=key, config=options, theme=None, alt=alt, height="stretch")


def fall_back(key: str) -> None:
    """From now on Streamlit draws the figures of a chart itself; for the event "missing"."""
    st.session_state[f"{key}_missing"] = True


def live_chart(key: str, figure: go.Figure, *, name: str, alt: str) -> None:
    """Draw a chart; call this again, from a fragment too, with each new figure.

    Streamlit mounts a chart anew whenever its data change, which shows as a blank. So the chart
    keeps the figure that it was mounted with, and a component draws the others over it in the
    browser. Every figure of one name must have the same traces.

    Args:
        key: of the chart in the session.
        figure: what to show now.
        name: changes when it is another chart, not another state of the same.
        alt: what the picture shows, in words.
    """
    slot, live, missing = f"{key}_underneath", f"{key}_live", f"{key}_missing"
    kept: Underneath | None = st.session_state.get(slot)
    there = live in st.session_state and not st.session_state.get(missing)
    if kept is None or kept.name != name or not there:
        kept = st.session_state[slot] = Underneath(name, figure, alt)
    with st.container(key=f"{key}_place"):  # its height is in assets/css
        st.plotly_chart(
            kept.figure, key=key, config=OPTIONS, theme=None, alt=kept.alt, height="stretch"
        )
    if not st.session_state.get(missing):
        shown = {"chart": key, "figure": figure.to_json()}
        mount("live_chart", live, shown, {"missing": partial(fall_back, key)})


def save_as(key: str, name: str, *, background: str, disabled: bool) -> None:
    """Buttons that save a chart as PNG or SVG, in the browser and as it looks there.

    Args:
        key: of the chart in the session.
        name: of the file, without its ending.
        background: the colour behind the chart, which on the page is the page's.
        disabled: while there is nothing to save.
    """
    shown = {"chart": key, "name": name, "background": background, "disabled": disabled}
    mount("picture", f"{key}_picture", shown, width="content")
