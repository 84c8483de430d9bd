"""Another run laid over this one: a result file of another machine or day."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from attention.errors import HeadscopeError
from components.messages import plain, warn

if TYPE_CHECKING:
    from attention.benchmark import BenchmarkSettings
    from attention.benchmark.imported import Run
    from attention.benchmark.summary import Row

KEPT = "bench_other_run"
FILE = "bench_file"
REFUSED = "bench_file_refused"


def other_run() -> "Run | None":
    """The run that the reader laid over this one."""
    run: Run | None = st.session_state.get(KEPT)
    return run


def draw() -> None:
    """The button that opens the choice of a file."""
    place = st.popover("Overlay", key="bench_overlay", on_change="rerun")
    if not place.open:
        return
    from attention.benchmark.imported import LARGEST_MB

    with place:
        st.file_uploader(
            "A result file of another machine or day",
            type=["json"],
            key=FILE,
            on_change=_take,
            max_upload_size=LARGEST_MB,
            help="What the button JSON below or `python -m attention bench --json FILE` writes.",
        )
        if (refused := st.session_state.get(REFUSED)) is not None:
            warn(refused)
        run = other_run()
        if run is not None:
            st.caption(plain(f"Laid over: {run.environment}"))
            st.button("Take it off", key="bench_overlay_off", on_click=_take_off)


def _take() -> None:
    """Read the file, or keep the sentence that says why it cannot be used."""
    from attention.benchmark.imported import read_run

    st.session_state[REFUSED] = None
    file = st.session_state[FILE]
    if file is None:
        return
    try:
        st.session_state[KEPT] = read_run(file.getvalue())
    except HeadscopeError as error:
        st.session_state[REFUSED] = str(error)


def _take_off() -> None:
    st.session_state[KEPT] = None


def say(settings: "BenchmarkSettings", table: "Sequence[Row]") -> None:
    """What the two runs say about each other."""
    from attention.benchmark.overlay import comparison

    run = other_run()
    if run is not None:
        st.markdown(plain(" ".join(comparison(settings, table, run))))
