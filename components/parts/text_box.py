"""The text box, which runs what is typed after a short pause, and the sample texts."""

from typing import TYPE_CHECKING

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from components import messages, state
from components.messages import plain
from components.mounting import mount
from components.samples import SAMPLES

if TYPE_CHECKING:
    from attention.model import LanguageModel

LONGEST_TEXT = 1_000_000  # characters; the box takes no more, so that a slip cannot stall the page
PAUSE_MS = 600  # in typing, before the text is run
EXAMPLE = 12  # token ids that are offered, twice


def draw(*, ids: bool = False) -> DeltaGenerator:
    """Draw the box and the samples. Returns the place for the number of tokens.

    Args:
        ids: whether it takes token ids, for a model without a tokenizer.
    """
    st.text_area(
        "Text",
        state.text("text"),
        height=68,
        max_chars=LONGEST_TEXT,
        key=state.slot("text"),
        on_change=state.take,
        args=("text",),
        placeholder="Token ids, such as 1 2 3 …" if ids else "Type a text …",
        label_visibility="collapsed",
    )
    mount("typing", "typing", {"pause": PAUSE_MS})
    text = state.text("text")
    with st.container(horizontal=True, vertical_alignment="center", key="samples"):
        if ids:
            st.caption("This model has no tokenizer: the box takes token ids.", width="content")
            return st.empty()
        st.markdown("Samples", help=_explained(), width="content")
        shown = next((s.name for s in SAMPLES if s.text == text), None)
        st.pills(
            "Sample texts",
            [sample.name for sample in SAMPLES],
            default=shown,
            key=state.showing("sample", shown),
            on_change=_use_sample,
            label_visibility="collapsed",
        )
        return st.empty()


def _explained() -> str:
    """Every sample with what to look at, as Markdown."""
    return "\n".join(f"- **{plain(s.name)}**: {plain(s.look_for)}" for s in SAMPLES)


def holds_ids(model: "LanguageModel") -> bool:
    """Whether the box holds token ids of a model; where not, say so and offer some that it has."""
    from attention.cli.options import parse_ids
    from attention.errors import TextError
    from attention.tokens import Tokens

    last, most = model.config.vocab_size - 1, model.config.context_length
    try:
        model.tokens(Tokens.from_ids(parse_ids(state.text("text"))).first(most))
    except TextError as error:
        messages.note(f"This model reads token ids from 0 to {last}, such as 1 2 3; {error}")
        st.button("Fill in an example", key="example_ids", on_click=_use_ids, args=(last + 1,))
        return False
    return True


def _use_ids(vocab_size: int) -> None:
    """Some tokens twice: induction heads show themselves whatever the tokens mean."""
    ids = [round(i * (vocab_size - 1) / EXAMPLE) for i in range(EXAMPLE)]
    state.put("text", " ".join(map(str, ids * 2)))


def _use_sample() -> None:
    for sample in SAMPLES:
        if sample.name == state.chosen("sample"):
            state.put("text", sample.text)
