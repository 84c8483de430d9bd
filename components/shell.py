"""What is around every view: the tab, the mark, the styles, the choice of view."""

from pathlib import Path

import streamlit as st

from components import messages, state, theme
from components.views import VIEWS, View

ASSETS = Path(__file__).parents[1] / "assets"
SIDEBAR_PX = 240
WORDMARK = """
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 186 32">
  <svg width="32" height="32">{mark}</svg>
  <text x="42" y="23" font-family="system-ui, sans-serif" font-size="21" font-weight="600"
        fill="{ink}">Headscope</text>
</svg>
"""


def configure() -> None:
    """Set up the tab, the mark and the styles; must come first."""
    mark = ASSETS / "mark.svg"
    st.set_page_config(
        page_title="Headscope",
        page_icon=str(mark),
        layout="wide",
        initial_sidebar_state=SIDEBAR_PX,
    )
    wordmark = WORDMARK.format(mark=mark.read_text(encoding="utf-8"), ink=theme.ink().text)
    st.logo(wordmark, size="medium", icon_image=mark.read_text(encoding="utf-8"))
    with st.container(key="styles"):
        ink = theme.ink()
        colours = f"--headscope-page: {ink.page}; --headscope-text: {ink.text};"
        st.html(f"<style>:root {{ {colours} }}</style>")
        st.html(ASSETS / "css" / "headscope.css")


def navigation() -> View:
    """The choice of view, and what was wrong with the address. Returns the chosen view."""
    titles = {view.key: view.title for view in VIEWS}
    if state.text("view") not in titles:
        state.put("view", VIEWS[0].key)
    with st.container(key="navigation"):
        st.segmented_control(
            "View",
            list(titles),
            format_func=titles.__getitem__,
            default=state.text("view"),
            key=state.slot("view"),
            on_change=state.take,
            args=("view",),
            required=True,
            label_visibility="collapsed",
        )
    messages.begin()
    for sentence in state.address_notes():
        messages.note(sentence)
    return next(view for view in VIEWS if view.key == state.text("view"))
