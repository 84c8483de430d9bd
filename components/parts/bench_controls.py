"""What is measured on the Loop vs batch page, and the head counts to choose from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import streamlit as st

from attention.config import divisors
from attention.errors import ConfigError, HeadscopeError
from components import messages, resources, state
from components.figures.quantities import QUANTITIES, offered
from components.parts import bench_compared
from components.sidebar import Run

if TYPE_CHECKING:
    from attention.benchmark import BenchmarkSettings
    from attention.benchmark.settings import Passes

EVERY_COUNT = 16  # per head any count is valid: all up to here, then in steps
STEPS = ((64, 4), (256, 16))  # up to a count, by how many
SECONDS = 0.1  # an implementation and head count
READINGS = {
    "total": "Same total width",
    "per_head": "Same width per head (the book's wrapper)",
}
QUESTIONS = {
    "total": "head_dim shrinks: shows what looping costs",
    "per_head": "the layer grows with the heads: both lines rise",
}


@dataclass(frozen=True)
class Asked:
    """What the reader asks for.

    Attributes:
        settings: of the benchmark, whatever the head counts.
        counts: the head counts that the slider offers.
        heads: where the slider stands.
    """

    settings: "BenchmarkSettings"
    counts: tuple[int, ...]
    heads: int

    @property
    def wanted(self) -> tuple[int, ...]:
        """Every count up to the slider."""
        return tuple(n for n in self.counts if n <= self.heads)

    @property
    def sweep(self) -> tuple[int, ...]:
        """1, 2, 4, 8 … as far as they are offered, and the largest."""
        doubled = tuple(n for n in self.counts if n & (n - 1) == 0)
        return tuple(sorted({*doubled, self.counts[-1]}))


def text_length(run: Run) -> int:
    """The tokens of the text on the Explore page, as far as the model reads; at least 1."""
    model = resources.model(run.model)
    try:
        tokens = resources.tokens(run.model, state.text("text"), state.text("bos"))
    except HeadscopeError as error:
        messages.note(f"{error} 1 token is timed; set another length below.")
        return 1
    return max(1, min(len(tokens), model.config.context_length))


def asked(run: Run, tokens: int) -> Asked:
    """What the state asks for, put right where it cannot be measured.

    Args:
        run: the device and dtype chosen in the sidebar.
        tokens: the text's length, used unless another is set.
    """
    from attention.benchmark import BenchmarkSettings
    from attention.benchmark.settings import default_threads

    reading = state.text("reading")
    width = state.whole("d_out" if reading == "total" else "d_out_per_head")
    total = width if reading == "total" else None
    kv_heads = _valid_kv_heads(total, state.whole("max_heads"))
    settings = BenchmarkSettings(
        heads=(kv_heads or 1,),
        implementations=bench_compared.compared(),
        d_out=total,
        d_out_per_head=None if reading == "total" else width,
        num_kv_heads=kv_heads,
        seq_len=state.whole("seq_len") or tokens,
        batch=state.whole("batch"),
        passes=cast("Passes", state.text("passes")),
        device=run.device,
        dtype=run.dtype,
        threads=state.whole("threads") or default_threads(),
        allocator="tuned" if state.text("allocator") == "tuned" else "user",
        compiled=state.on("compiled"),
        l2="warm" if state.text("l2") == "warm" else "cold",
        min_run_time=SECONDS,
        patience=float(state.whole("patience")),
    )
    counts = valid_counts(settings, state.whole("max_heads"))
    return Asked(settings, counts, _valid_heads(settings, counts))


def _valid_kv_heads(total: int | None, most: int) -> int | None:
    """The kv heads asked for, None for one to each head; says why when no head count has them."""
    asked = state.whole("kv_heads")
    if not asked or (asked <= most and (total is None or total % asked == 0)):
        return asked or None
    divides = "" if total is None else f" and divide d_out {total}"
    messages.note(
        f"kv heads must be at most {most} heads{divides}; got {asked}. "
        "Each head has its own instead."
    )
    state.put("kv_heads", 0)
    return None


def valid_counts(settings: "BenchmarkSettings", most: int) -> tuple[int, ...]:
    """The head counts to choose from: those that divide the total, or any.

    Where kv heads are shared, only their multiples.
    """
    shared = settings.num_kv_heads or 1
    if settings.reading == "total":
        return tuple(n for n in divisors(settings.width) if n <= most and n % shared == 0)
    counts, above = list(range(1, min(most, EVERY_COUNT) + 1)), EVERY_COUNT
    for until, by in STEPS:
        counts += range(above + by, min(most, until) + 1, by)
        above = until
    return tuple(n for n in counts if n % shared == 0) or (shared,)


def _valid_heads(settings: "BenchmarkSettings", counts: Sequence[int]) -> int:
    """Where the slider stands; says why when it cannot stand where it should."""
    heads = state.whole("heads")
    if heads in counts:
        return heads
    nearest = max((n for n in counts if n <= heads), default=counts[0])
    if heads <= counts[-1]:
        try:
            settings.config(heads)
        except ConfigError as error:
            messages.note(f"{error} {nearest} heads are shown.")
    state.put("heads", nearest)
    return nearest


def draw_question() -> None:
    """Which of the two meanings of d_out is asked about."""
    st.radio(
        "Question",
        list(READINGS),
        format_func=READINGS.__getitem__,
        captions=list(QUESTIONS.values()),
        index=list(READINGS).index(state.text("reading")),
        key=state.slot("reading"),
        on_change=state.take,
        args=("reading",),
        label_visibility="collapsed",
    )


def draw_figure(settings: "BenchmarkSettings") -> None:
    """What the chart and the table show.

    Not among what grows: redrawn twice a second, the control lost what the address says before a
    slow browser had drawn it.
    """
    keys = offered(settings)
    if state.text("figure") not in keys:
        state.put("figure", keys[0])
    st.segmented_control(
        "Chart",
        keys,
        format_func=lambda key: QUANTITIES[key].title,
        default=state.text("figure"),
        key=state.slot("figure"),
        on_change=state.take,
        args=("figure",),
        required=True,
        label_visibility="collapsed",
    )


def draw_heads(asked: Asked) -> None:
    """The slider, and one head count less or more."""
    counts, at = asked.counts, asked.counts.index(asked.heads)
    if len(counts) == 1:
        only = f"{counts[0]} {'head is' if counts[0] == 1 else 'heads are'}"
        st.caption(f"{only} the only count that can be measured with these sizes.")
        return
    with st.container(key="bench_heads", horizontal=True, vertical_alignment="bottom"):
        st.select_slider(
            "Heads: every count up to here is measured",
            counts,
            value=state.whole("heads"),
            key=state.slot("heads"),
            on_change=state.take,
            args=("heads",),
        )
        for sign, name, to in (("−", "Fewer heads", at - 1), ("+", "More heads", at + 1)):
            possible = 0 <= to < len(counts)
            st.button(
                sign,
                key=f"bench_{name.split()[0].lower()}",
                help=name,
                disabled=not possible,
                on_click=state.put,
                args=("heads", counts[to] if possible else asked.heads),
            )


def draw_sizes(asked: Asked, tokens: int) -> None:
    """Width, length and what else decides a time."""
    if state.text("reading") == "total":
        _number("d_out", "d_out, total", "Features of all heads together.")
    else:
        _number("d_out_per_head", "d_out, per head", "Features of one head.")
    _number(
        "seq_len",
        f"Tokens (0: text's {tokens})",
        "The length of the sequence that is timed. 0: that of the text on the Explore page.",
    )
    # Drawn when it opens: what is drawn behind closed doors shows its default when they open.
    more = st.popover("More", key="bench_more_settings", on_change="rerun")
    if more.open:
        with more:
            _draw_more(asked.settings)


def _draw_more(settings: "BenchmarkSettings") -> None:
    from attention.benchmark.passes import PASSES

    bench_compared.draw(settings.implementations)
    _number("max_heads", "Most heads", "Where the slider and the sweep end.")
    _number("batch", "Batch", "Sequences at once.")
    _number("kv_heads", "kv heads (0: all)", "Key and value heads, each shared by several heads.")
    _choice(
        "passes",
        "Timed",
        {key: entry.title for key, entry in PASSES.items()},
        "  \n".join(f"{entry.title}: {entry.summary}" for entry in PASSES.values()),
    )
    _choice(
        "allocator",
        "Memory",
        {"user": "As a program has it", "tuned": "Allocator tuned"},
        "Tuned, glibc keeps freed memory instead of giving it back to the system after each "
        "pass. It decides who wins at long lengths.",
    )
    st.toggle(
        "Compiled",
        value=state.on("compiled"),
        key=state.slot("compiled"),
        on_change=state.take,
        args=("compiled",),
        help="torch.compile makes kernels of each implementation first: seconds to minutes at each "
        "head count, told apart from the times.",
    )
    if settings.device.startswith("cuda"):
        _choice(
            "l2",
            "L2 cache",
            {"cold": "Cold", "warm": "Warm"},
            "Cold, the GPU's cache is emptied before each call, as by what ran before.",
        )


def _number(key: str, title: str, explained: str) -> None:
    low, high = state.bounds(key)
    st.number_input(
        title,
        min_value=low,
        max_value=high,
        value=state.whole(key),
        step=1,
        key=state.slot(key),
        on_change=state.take,
        args=(key,),
        help=explained,
    )


def _choice(key: str, title: str, options: dict[str, str], explained: str) -> None:
    st.segmented_control(
        title,
        list(options),
        format_func=options.__getitem__,
        default=state.text(key),
        key=state.slot(key),
        on_change=state.take,
        args=(key,),
        required=True,
        help=explained,
    )
