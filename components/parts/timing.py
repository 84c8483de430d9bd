"""The strip at the bottom: what the loop over heads costs on this text, measured now."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attention.errors import ConfigError
from components import resources, state
from components.messages import errors_as_sentences, plain
from components.mounting import mount
from components.sidebar import Run
from components.theme import mark

if TYPE_CHECKING:
    from attention.difference import Difference
    from attention.model import LanguageModel
    from attention.tokens import Tokens

ALWAYS = ("looped", "batched", "sdpa")
ROUNDS = 4
FEWEST_ROUNDS = 1
LONGEST_S = 1.0  # no further round begins after that
SECONDS = 0.03  # an implementation and round
SLOW_S = 0.15  # a forward pass, above which it is timed on request: no click is answered meanwhile
CALLS = 14  # forward passes of one round, warming up and the comparison included
ALIKE = 1.05  # times that differ by less are the same to a reader
DRAWING_S = 0.5  # that the browser needs for new pictures
KEPT = "timing_kept"
PICTURED = 2  # of the key of what is kept: what the pictures depend on too
Samples = dict[str, list[float]]  # ms


@dataclass(frozen=True)
class Timing:
    """What was measured.

    Attributes:
        samples: ms of a forward pass, by implementation.
        difference: between the chosen implementation and `other`.
        chosen: the implementation that made the pictures.
        other: the one it is compared with.
        heads: of each layer, that were run.
    """

    samples: Samples
    difference: "Difference"
    chosen: str
    other: str
    heads: int


@st.fragment
def draw(run: Run, tokens: "Tokens") -> None:
    """Draw the strip; the pictures are there before it measures."""
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
    with middle:
        bars = st.container(key="timing_bars_place")
        progress = st.empty()
    with right:
        words = st.container(gap=None)
    with last:
        again = _buttons()
    seconds = resources.seconds(run.model, tokens, run.implementation)
    if seconds > SLOW_S and not again and not _is_kept(run, tokens, heads):
        words.markdown(plain(offer(seconds)))
        return
    timing = _measure(run, tokens, heads, progress, again=again)
    with bars:
        mount("bars", "timing_bars", {"rows": bar_rows(timing)})
    with words:
        st.markdown(plain(verdict(timing)))
        st.caption(plain(equality(timing)), help=conditions(run, model, tokens, timing))


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
    asked = state.whole("timed_heads") or most
    if not st.session_state.get("timed_heads_widget") or asked > most:
        st.session_state["timed_heads_widget"] = min(asked, most)

    def take() -> None:
        heads = st.session_state["timed_heads_widget"]
        st.session_state["timed_heads"] = 0 if heads == most else heads

    wanted: int = st.number_input(
        "Heads",
        min_value=1,
        max_value=most,
        step=1,
        key="timed_heads_widget",
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


def _is_kept(run: Run, tokens: "Tokens", heads: int) -> bool:
    kept = st.session_state.get(KEPT)
    return kept is not None and kept[0] == _key(run, tokens, heads)


def _key(run: Run, tokens: "Tokens", heads: int) -> tuple[object, ...]:
    """All that the times depend on."""
    threads = resources.use_threads(state.whole("threads"))
    return (run.model, tokens.ids, heads, threads, _names(run))


def _names(run: Run) -> tuple[str, ...]:
    """What is timed: the three that everybody knows and the chosen one, if the model can."""
    model = resources.model(run.model)
    return tuple(n for n in dict.fromkeys((*ALWAYS, run.implementation)) if _can(model, n))


def _measure(
    run: Run,
    tokens: "Tokens",
    heads: int,
    progress: DeltaGenerator,
    *,
    again: bool,
) -> Timing:
    """Measure in short rounds; between them Streamlit may stop the run for what was clicked."""
    from attention.difference import compare
    from attention.timing import time_forward

    model = resources.model(run.model)
    other = "batched" if run.implementation == "looped" else "looped"
    names, key = _names(run), _key(run, tokens, heads)
    kept = st.session_state.get(KEPT)
    if kept is None or kept[0] != key or again:
        samples: Samples = {name: [] for name in names}
        if kept is None or kept[0][:PICTURED] != key[:PICTURED]:
            _wait_for_the_pictures(progress)
        with resources.timing_turn():
            deadline = time.monotonic() + LONGEST_S
            for turn in range(ROUNDS):
                if turn >= FEWEST_ROUNDS and time.monotonic() > deadline:
                    break  # a busy machine: rather a few samples than a page that waits
                for name in (*names[turn % len(names) :], *names[: turn % len(names)]):
                    # One at a time: what was clicked must not wait for a large model's whole round.
                    progress.caption(f"Measuring, round {turn + 1} of {ROUNDS} …")
                    found = time_forward(
                        model, tokens, [name], num_heads=heads, min_run_time=SECONDS, rounds=1
                    )
                    samples[name] += found[name]
        kept = (key, samples)
        st.session_state[KEPT] = kept
    progress.empty()
    difference = compare(model, tokens, run.implementation, other, num_heads=heads)
    return Timing(kept[1], difference, run.implementation, other, heads)


def _can(model: "LanguageModel", name: str) -> bool:
    """Whether a model's heads can be computed in that way."""
    try:
        model.require(name)
    except ConfigError:
        return False
    return True


def _wait_for_the_pictures(progress: DeltaGenerator) -> None:
    """Let a browser on this machine draw first: it and the timing would disturb each other."""
    for _ in range(5):
        progress.caption("Measuring …")  # also lets Streamlit stop here for a click
        time.sleep(DRAWING_S / 5)


def bar_rows(timing: Timing) -> list[dict[str, Any]]:
    """What the bars show, the chosen implementation's name in bold."""
    from attention.implementations import IMPLEMENTATIONS

    rows = []
    for name, samples in timing.samples.items():
        low, median, high = (float(p) for p in np.percentile(samples, [10, 50, 90]))
        title = IMPLEMENTATIONS[name].title
        rows.append(
            {
                "title": title,
                "chosen": name == timing.chosen,
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


def verdict(timing: Timing) -> str:
    """Who wins, loop or batch, and by how much."""
    loop, batch = (np.median(timing.samples[name]) for name in ("looped", "batched"))
    heads = f"{timing.heads} head{'s' if timing.heads != 1 else ''} a layer"
    fast, slow = sorted((float(loop), float(batch)))
    if slow / fast < ALIKE:
        return f"With {heads} the loop and the batch take the same time here, within 5%."
    ratio = f"{slow / fast:.2g}×"
    if loop > batch:
        return f"With {heads} the loop takes {ratio} as long as the batch on this text."
    return f"With {heads} the loop wins here: the batch takes {ratio} as long on this text."


def equality(timing: Timing) -> str:
    """How far the chosen implementation's numbers are from the other's."""
    from attention.implementations import IMPLEMENTATIONS

    chosen, other = (IMPLEMENTATIONS[name].title for name in (timing.chosen, timing.other))
    difference = timing.difference
    return (
        f"{chosen} vs {other}, max |Δ|: outputs {_delta(difference.output)}, "
        f"patterns {_delta(difference.pattern)}."
    )


def _delta(value: float) -> str:
    """In two figures, without an exponent's zeros: 2.1e-7."""
    mantissa, _, power = f"{value:.1e}".partition("e")
    return "0" if value == 0 else f"{mantissa}e{int(power)}"


def conditions(run: Run, model: "LanguageModel", tokens: "Tokens", timing: Timing) -> str:
    """What was measured, and where."""
    import torch

    from attention.timing import forward_clock

    count = min(len(samples) for samples in timing.samples.values())
    threads = torch.get_num_threads()
    where = f"{threads} thread{'s' if threads != 1 else ''}" if run.device == "cpu" else run.device
    _, clock = forward_clock(model.device)
    return (
        f"Bars: median of the model's forward pass over {len(tokens)} tokens, line p10 to p90, "
        f"at least {count} samples each, interleaved; {run.dtype}, {where}, {clock}, "
        f"torch {torch.__version__}.{recomputed(timing)}"
    )


def recomputed(timing: Timing) -> str:
    """Whose patterns are not its own; empty where all are."""
    from attention.implementations import IMPLEMENTATIONS

    names = [IMPLEMENTATIONS[name].title for name in timing.difference.recomputed]
    return f" {_listed(names)} keeps no pattern: recomputed from its q and k." if names else ""


def _listed(names: Sequence[str]) -> str:
    return " and ".join(names)
