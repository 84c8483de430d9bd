"""What am I looking at? One kind of head explained, a click away from its picture."""

import streamlit as st

from components.explanations import EXPLANATIONS, HOW_TO_READ, NO_HABIT
from components.first_map import Habit
from components.messages import plain
from components.sentences import percent

TITLE = "What am I looking at?"
MORE = "It is the head's attention pattern. docs/glossary.md has this and the other terms."


def draw(habit: Habit | None) -> None:
    """Draw the button, and what it opens.

    Args:
        habit: what the head mostly does on this text; None for nothing clear.
    """
    with st.popover(TITLE, type="tertiary"), st.container(key="explained"):
        for paragraph in paragraphs(habit):
            st.markdown(paragraph)
        st.caption(f"{HOW_TO_READ} {MORE}")


def paragraphs(habit: Habit | None) -> list[str]:
    """What is said of a head, as Markdown; every word of it is ours."""
    if habit is None:
        return [NO_HABIT]
    share = percent(habit.value)
    known = EXPLANATIONS.get(habit.metric)
    if known is None:
        return [f"**{plain(habit.label.capitalize())}**, {share} here."]
    return [
        f"**{known.term.capitalize()}**, {plain(share)} here. {known.does}",
        f"**In the picture:** {known.see}",
        f"**What it is for:** {known.use}",
    ]
