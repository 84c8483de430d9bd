"""Explore: a text, all heads of a layer, one head in detail, and what the loop costs."""

import math
import time
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from components import (
    chosen,
    first_map,
    messages,
    model_choice,
    pictures,
    resources,
    sidebar,
    state,
)
from components.measuring import measuring
from components.mounting import mount
from components.parts import text_box, timing
from components.parts.detail import CHART
from components.waiting import telling

if TYPE_CHECKING:
    from attention.model_config import ModelConfig
    from attention.record import RunRecord

MOST_WEIGHTS = 4_000_000_000  # of a layer's heads: some seconds' work for two cores
PATIENCE_S = 2.0  # for a browser that is slow, or does not say when it has drawn
PAINTED = "first_map_painted"
MOST_HELD = 250_000_000  # the same where they are in memory together: 1 GB, more than once


def render() -> None:
    """Draw the page: the text first, so that it is there before anything is loaded."""
    ids = resources.imported() and model_choice.takes_ids()
    count = text_box.draw(ids=ids)
    if not resources.imported():
        _draw_beforehand(count)
    run = sidebar.controls()
    if model_choice.takes_ids() != ids:
        messages.rerun()
    resources.use_threads(state.whole("threads"))
    with measuring().held_off():
        record = _run(run, count)
    if record is not None:
        chosen.settle(record)
        pictures.draw(record)
        timing.draw(run, record.tokens)


def _draw_beforehand(count: DeltaGenerator) -> None:
    """Draw what was worked out beforehand, import torch, then begin again.

    In this order, because the two would slow each other down: torch waits until the browser says
    that it has drawn, which runs the page again, or for PATIENCE_S.
    """
    first = first_map.load() if _is_untouched() else None
    loading = None
    if first is not None and chosen.exists(first):
        count.caption(f"{len(first.tokens)} tokens")
        pictures.draw(first)
        mount("painted", "painted", {"chart": CHART}, {"painted": _note_painted})
        loading = st.empty()
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until and not st.session_state.get(PAINTED):
            loading.caption("Loading the model …")
            time.sleep(0.05)
    loading = loading or st.empty()
    importing = resources.start_imports()
    while importing.is_alive():
        loading.caption("Loading the model …")  # also lets Streamlit stop here for a click
        time.sleep(0.05)
    resources.wait_for_imports()
    state.begin_again()


def _note_painted() -> None:
    st.session_state[PAINTED] = True


def _is_untouched() -> bool:
    """Whether the page shows the default text through the embedded model as it is."""
    run = ("text", "model", "device", "dtype")
    return all(state.text(key) == state.ENTRIES[key].default for key in run)


def _run(run: sidebar.Run, count: DeltaGenerator) -> "RunRecord | None":
    """The text through the model, with a sentence for what is special about it."""
    text = state.text("text")
    model = resources.model(run.model)
    if not text:
        messages.note("There is no text yet: type one, or pick a sample.")
        return None
    if model.tokenizer is None and not text_box.holds_ids(model):
        return None
    tokens = resources.tokens(run.model, text, state.text("bos"))
    most = _most_tokens(model.config, run.implementation)
    how_many = f"{len(tokens):,} tokens" if len(tokens) != 1 else "1 token"
    count.caption(how_many)
    if len(tokens) > most:
        reads = f"the model reads {model.config.context_length:,}"
        draws = f"this page draws {most:,} with so many heads{_more(model.config, most)}"
        messages.note(
            f"The text has {len(tokens):,} tokens and "
            f"{reads if most == model.config.context_length else draws}: the pictures show "
            f"the first {most:,}. Your text is kept{_in_the_address(text)}."
        )
    elif not text.strip():
        messages.note(
            "The text is only blanks and line breaks; they are tokens too, shown as ␣ \\n."
        )
    tell = telling(count, f"{how_many} · running")
    record = resources.record(run.model, tokens.first(most), run.implementation, tell)
    count.caption(how_many)
    return record


def _most_tokens(config: "ModelConfig", implementation: str) -> int:
    """How long a text may be: as the model reads, or a layer can be run and drawn soon."""
    from attention.implementations import IMPLEMENTATIONS

    holds_patterns = IMPLEMENTATIONS[implementation].has_pattern
    most = min(MOST_HELD, MOST_WEIGHTS) if holds_patterns else MOST_WEIGHTS
    return min(config.context_length, math.isqrt(most // config.num_heads))


def _more(config: "ModelConfig", most: int) -> str:
    """Says how many tokens could be drawn where no patterns are held while the model runs."""
    more = _most_tokens(config, "sdpa")
    return f" run in this way, {more:,} as SDPA" if more > most else ""


def _in_the_address(text: str) -> str:
    longest = state.LONGEST_ADDRESS_TEXT
    return "" if len(text) <= longest else f"; the address holds its first {longest:,} characters"
