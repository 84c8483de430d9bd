"""Watch heads form: one text through the checkpoints of a training."""

import streamlit as st

from components import messages, resources, sidebar, state
from components.film import MOST_TOKENS, Film
from components.messages import errors_as_sentences, plain
from components.parts import forming, text_box


def render() -> None:
    """Draw the page."""
    count = text_box.draw()
    loading = st.empty()
    with loading, st.spinner("Loading …"):
        resources.wait_for_imports()
    resources.use_threads(state.whole("threads"))
    with st.sidebar:
        _about()
        sidebar.colours()
    text = state.text("text")
    if not text:
        messages.note("There is no text yet: type one, or pick a sample.")
        return
    with loading, st.spinner("Running the text through every checkpoint …"):
        film = resources.film(text)
    count.caption(f"{film.total:,} tokens" if film.total != 1 else "1 token")
    if film.total > MOST_TOKENS:
        messages.note(
            f"The text has {film.total:,} tokens in this small model's vocabulary: the pictures "
            f"show the first {MOST_TOKENS}."
        )
    forming.settle(film)
    _pictures(film)


def _about() -> None:
    """What is being watched."""
    sizes = resources.formation().model(0).config
    st.caption(
        plain(
            f"A model of its own, small enough to keep at many moments: {sizes.num_layers} layers "
            f"of {sizes.num_heads} heads, attention only, {sizes.vocab_size:,} tokens. "
            f"{len(resources.formation())} checkpoints of one training, from the first weights to "
            "the last."
        )
    )


@st.fragment
def _pictures(film: Film) -> None:
    with errors_as_sentences(), st.container(key="forming"):
        forming.draw(film)
    state.end()
