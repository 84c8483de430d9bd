"""Explore: a text, its heads, one head in detail."""

import streamlit as st

from components import state


def render() -> None:
    """Draw the page."""
    st.text_area("Text", key=state.slot("text"), on_change=state.take, args=("text",))
