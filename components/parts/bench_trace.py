"""Why: one forward pass over time, head by head, and what the profiler says of it."""

from typing import TYPE_CHECKING

import streamlit as st

from components import theme
from components.figures.trace import trace_figure
from components.messages import errors_as_sentences, plain
from components.parts.bench_controls import Asked

if TYPE_CHECKING:
    from attention.benchmark import BenchmarkSettings
    from attention.benchmark.trace import Trace

TITLE = "Do heads ever run at once? One forward pass over time"
CHOICE = "bench_traced"
KEPT = 12  # traces that are remembered


def draw(asked: Asked) -> None:
    """Offer a trace of each implementation at the slider's head count; make it when opened."""
    place = st.expander(TITLE, key="bench_trace", on_change="rerun")
    if not place.open:
        return
    from attention.implementations import IMPLEMENTATIONS

    with place, errors_as_sentences():
        with st.container(key="bench_trace_choice", horizontal=True, vertical_alignment="bottom"):
            name = st.segmented_control(
                "Traced",
                asked.settings.implementations,
                format_func=lambda name: IMPLEMENTATIONS[name].title,
                key=CHOICE,
                default=asked.settings.implementations[0],
                required=True,
            )
            again = st.button("Trace again", key="bench_trace_again")
        if again:
            _trace.clear(asked.settings.family, asked.heads, name)
        with st.spinner("Tracing one pass …"):
            found = _trace(asked.settings.family, asked.heads, name)
        _show(found, name, asked.heads, timed=asked.settings.passes)


@st.cache_data(max_entries=KEPT, show_spinner=False)
def _trace(settings: "BenchmarkSettings", num_heads: int, name: str) -> "Trace":
    from attention.benchmark import Worker

    with Worker(settings.allocator) as worker:
        return worker.trace(settings, num_heads, name)


def _show(found: "Trace", name: str, num_heads: int, *, timed: str) -> None:
    from attention.benchmark.why import why

    if timed != "forward":
        st.caption("A forward pass over the whole text is traced, whatever is timed above.")
    first, *others = map(plain, why(found, name))
    st.markdown(" ".join([f"**{first}**", *others]))
    st.plotly_chart(
        trace_figure(found, theme.ink()),
        key="bench_trace_chart",
        theme=None,
        config={"displaylogo": False, "toImageButtonOptions": {"format": "svg"}},
        alt=f"Operators of one forward pass over time, a lane for each head. {first}",
    )
    st.caption(
        "The profiler slows every operator down: read the order, the overlap and the shares here, "
        "and the times above. Work that runs at once shows as bars above each other."
    )
    st.download_button(
        "Trace for Perfetto",
        found.chrome,
        file_name=f"headscope-{name}-{num_heads}-heads.json",
        mime="application/json",
        key="bench_trace_file",
        help="Opens in ui.perfetto.dev and in chrome://tracing.",
        on_click="ignore",
    )
