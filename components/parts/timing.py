"""The strip at the bottom: what the loop over heads costs on this text, measured now."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from attention.errors import ConfigError
from components import resources, state
from components.measuring import Asked, Found, measuring
from components.messages import errors_as_sentences, plain
from components.mounting import mount
from components.sidebar import Run
from components.theme import mark
from components.waiting import again_soon, catch_up

if TYPE_CHECKING:
    from attention.model import LanguageModel
    from attention.tokens import Tokens

ALWAYS = ("looped", "batched", "sdpa")
SLOW_S = 0.5  # a forward pass, above which it is timed on request: a core is kept busy by it
CALLS = 14  # forward passes of one round, warming up and the comparison included
ALIKE = 1.05  # times that differ by less are the same to a reader
AGAIN_MS = 400  # until what is measured meanwhile is drawn


@st.fragment
def draw(run: Run, tokens: "Tokens") -> None:
    """Draw the strip; the pictures are there before it measures."""
    catch_up("timed_heads")
    with errors_as_sentences(), st.container(key="timing", border=True):
        _draw(run, tokens)
    state.end()


def _draw(run: Run, tokens: "Tokens") -> None:
    model = resources.model(run.model)
    most = model.config.num_heads
    left, middle, right, last = st.columns(
        [7, 12, 18, 8], gap="medium", vertical_alignment="center"
    )
    with left:
        heads = _heads(most)
    with last:
        again = _buttons()
    asked = _asked(run, tokens, heads)
    seconds = resources.seconds(run.model, tokens, run.implementation)
    if seconds > SLOW_S and not again and not measuring().known(asked):
        with right:
            st.markdown(plain(offer(seconds)))
        return
    found = measuring().want(asked, model, again=again)
    with middle, st.container(key="timing_bars_place"):
        if found.samples:
            mount("bars", "timing_bars", {"rows": bar_rows(found)})
    with right, st.container(gap=None):
        _words(model, found)


def _words(model: "LanguageModel", found: Found) -> None:
    """What was found, as far as it is."""
    if found.error is not None:
        st.markdown(plain(found.error))
    elif not found.samples:
        st.caption("Measuring …")
    else:
        st.markdown(plain(verdict(found)))
        st.caption(plain(equality(found)), help=conditions(model, found))
    if found.running:
        again_soon("timing_again", AGAIN_MS)


def _buttons() -> bool:
    """Whether to measure again; the other button leads to the view that explains the times."""
    with st.container(gap=None, key="timing_buttons"):
        again = st.button("Measure again", key="measure_again", type="tertiary")
        if st.button("See why: add heads", key="see_why", type="tertiary"):
            state.put("view", "loop-vs-batch")
            st.rerun()
    return again


def _heads(most: int) -> int:
    """The number of heads that are timed; all of them is 0 in the state, whatever the model."""
    name = "timed_heads_widget"

    shown = min(state.whole("timed_heads") or most, most)

    def take() -> None:
        heads = state.chosen(name)
        if heads is not None:
            st.session_state["timed_heads"] = 0 if heads == most else heads

    wanted: int = st.number_input(
        "Heads",
        min_value=1,
        max_value=most,
        step=1,
        value=shown,
        key=state.showing(name, shown),
        on_change=take,
        help="The first so many heads of every layer.",
    )
    return wanted


def offer(seconds: float) -> str:
    """What is said where a text takes so long that it is measured on request only."""
    total = CALLS * seconds
    return (
        f"A forward pass of this text takes about {seconds:.2g} s here, and measuring loop and "
        f"batch about {total:.0f} s: press “Measure again”."
    )


def _asked(run: Run, tokens: "Tokens", heads: int) -> Asked:
    """What is timed: the three that everybody knows and the chosen one, if the model can."""
    model = resources.model(run.model)
    names = dict.fromkeys((*ALWAYS, run.implementation))
    return Asked(
        run.model,
        tokens,
        heads,
        resources.use_threads(state.whole("threads")),
        tuple(name for name in names if _can(model, name)),
        run.implementation,
        "batched" if run.implementation == "looped" else "looped",
    )


def _can(model: "LanguageModel", name: str) -> bool:
    """Whether a model's heads can be computed in that way."""
    try:
        model.require(name)
    except ConfigError:
        return False
    return True


def bar_rows(found: Found) -> list[dict[str, Any]]:
    """What the bars show, the chosen implementation's name in bold."""
    from attention.implementations import IMPLEMENTATIONS

    rows = []
    for name, samples in found.samples.items():
        low, median, high = (float(p) for p in np.percentile(samples, [10, 50, 90]))
        title = IMPLEMENTATIONS[name].title
        rows.append(
            {
                "title": title,
                "chosen": name == found.asked.chosen,
                "colour": mark(name).colour,
                "low": low,
                "median": median,
                "high": high,
                "time": milliseconds(median),
                "detail": f"{title}: median {milliseconds(median)}, p10 {milliseconds(low)}, "
                f"p90 {milliseconds(high)}, {len(samples)} samples",
            }
        )
    return rows


def milliseconds(value: float) -> str:
    """A time with three significant figures: 0.0213 ms, 2.30 ms, 1,230 ms."""
    rounded = float(f"{value:.3g}")
    decimals = max(0, 2 - math.floor(math.log10(rounded))) if rounded else 0
    return f"{rounded:,.{decimals}f} ms"


def verdict(found: Found) -> str:
    """Who wins, loop or batch, and by how much."""
    loop, batch = (np.median(found.samples[name]) for name in ("looped", "batched"))
    heads = f"{found.asked.heads} head{'s' if found.asked.heads != 1 else ''} a layer"
    fast, slow = sorted((float(loop), float(batch)))
    if slow / fast < ALIKE:
        return f"With {heads} the loop and the batch take the same time here, within 5%."
    ratio = f"{slow / fast:.2g}×"
    if loop > batch:
        return f"With {heads} the loop takes {ratio} as long as the batch on this text."
    return f"With {heads} the loop wins here: the batch takes {ratio} as long on this text."


def equality(found: Found) -> str:
    """How far the chosen implementation's numbers are from the other's."""
    from attention.implementations import IMPLEMENTATIONS

    if found.refused is not None:
        return found.refused
    asked, difference = found.asked, found.difference
    pair = " vs ".join(IMPLEMENTATIONS[name].title for name in (asked.chosen, asked.other))
    if difference is None:
        return f"{pair}: comparing …"
    return (
        f"{pair}, max |Δ|: outputs {_delta(difference.output)}, "
        f"patterns {_delta(difference.pattern)}."
    )


def _delta(value: float) -> str:
    """In two figures, without an exponent's zeros: 2.1e-7."""
    mantissa, _, power = f"{value:.1e}".partition("e")
    return "0" if value == 0 else f"{mantissa}e{int(power)}"


def conditions(model: "LanguageModel", found: Found) -> str:
    """What was measured, and where."""
    import torch

    from attention.timing import forward_clock

    count = min(len(samples) for samples in found.samples.values())
    asked = found.asked
    on_cpu = f"{asked.threads} thread{'s' if asked.threads != 1 else ''}"
    where = on_cpu if asked.model.device == "cpu" else asked.model.device
    _, clock = forward_clock(model.device)
    return (
        f"Bars: median of the model's forward pass over {len(asked.tokens)} tokens, line p10 to "
        f"p90, at least {count} samples each, interleaved; {asked.model.dtype}, {where}, {clock}, "
        f"torch {torch.__version__}.{recomputed(found)}"
    )


def recomputed(found: Found) -> str:
    """Whose patterns are not its own; empty where all are."""
    from attention.implementations import IMPLEMENTATIONS

    kept_none = found.difference.recomputed if found.difference is not None else ()
    names = [IMPLEMENTATIONS[name].title for name in kept_none]
    return f" {_listed(names)} keeps no pattern: recomputed from its q and k." if names else ""


def _listed(names: Sequence[str]) -> str:
    return " and ".join(names)
