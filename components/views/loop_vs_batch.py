"""Loop vs batch: add heads, and watch what looping over them costs."""

import streamlit as st

from components import resources, sidebar
from components.measuring import measuring
from components.parts import bench_controls, bench_overlay, bench_results, bench_trace


def render() -> None:
    """Draw the page."""
    loading = st.empty()
    with loading, st.spinner("Loading …"):
        resources.wait_for_imports()
    measuring().end()  # what the other view measures would disturb
    run = sidebar.controls(pictures=False)
    tokens = bench_controls.text_length(run)
    asked = bench_controls.asked(run, tokens)
    question, sizes = st.columns([2, 3], gap="medium", vertical_alignment="center")
    with question:
        bench_controls.draw_question()
        bench_controls.draw_figure(asked.settings)
    with sizes:
        with st.container(key="bench_sizes", horizontal=True, vertical_alignment="bottom"):
            bench_controls.draw_sizes(asked, tokens)
            bench_overlay.draw()
        bench_controls.draw_heads(asked)
    bench_results.draw(asked)
    bench_trace.draw(asked)
