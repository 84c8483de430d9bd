"""What is around every view: the tab, the mark, the styles, the choice of view."""

from pathlib import Path

import streamlit as st

from components import messages, state
from components.views import VIEWS, View

ASSETS = Path(__file__).parents[1] / "assets"


def configure() -> None:
    """Set up the tab; must come first."""
    st.set_page_config(page_title="Headscope", page_icon="🔭", layout="wide")


def navigation() -> View:
    """The choice of view, and what was wrong with the address. Returns the chosen view."""
    titles = {view.key: view.title for view in VIEWS}
    if state.text("view") not in titles:
        state.put("view", VIEWS[0].key)
    st.segmented_control(
        "View",
        list(titles),
        format_func=titles.__getitem__,
        key=state.slot("view"),
        on_change=state.take,
        args=("view",),
        required=True,
        label_visibility="collapsed",
    )
    for sentence in state.address_notes():
        messages.note(sentence)
    return next(view for view in VIEWS if view.key == state.text("view"))
