"""The text box, which runs what is typed after a short pause, and the sample texts."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from components import state
from components.messages import plain
from components.mounting import mount
from components.samples import SAMPLES

LONGEST_TEXT = 1_000_000  # characters; the box takes no more, so that a slip cannot stall the page
PAUSE_MS = 600  # in typing, before the text is run


def draw() -> DeltaGenerator:
    """Draw the box and the samples. Returns the place for the number of tokens."""
    st.text_area(
        "Text",
        height=68,
        max_chars=LONGEST_TEXT,
        key=state.slot("text"),
        on_change=state.take,
        args=("text",),
        placeholder="Type a text …",
        label_visibility="collapsed",
    )
    mount("typing", "typing", {"field": state.slot("text"), "pause": PAUSE_MS})
    text = state.text("text")
    with st.container(horizontal=True, vertical_alignment="center", key="samples"):
        st.markdown("Samples", help=_explained(), width="content")
        st.session_state["sample"] = next((s.name for s in SAMPLES if s.text == text), None)
        st.pills(
            "Sample texts",
            [sample.name for sample in SAMPLES],
            key="sample",
            on_change=_use_sample,
            label_visibility="collapsed",
        )
        return st.empty()


def _explained() -> str:
    """Every sample with what to look at, as Markdown."""
    return "\n".join(f"- **{plain(s.name)}**: {plain(s.look_for)}" for s in SAMPLES)


def _use_sample() -> None:
    for sample in SAMPLES:
        if sample.name == st.session_state["sample"]:
            state.put("text", sample.text)
