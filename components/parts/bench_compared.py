"""Which implementations are measured: three at first, any of the table."""

import streamlit as st

from components import messages, state

KEY = "bench_compared_widget"


def compared() -> tuple[str, ...]:
    """The implementations asked for, in the table's order; those that there are not are told."""
    from attention.implementations import IMPLEMENTATIONS

    asked = [name.strip() for name in state.text("compared").split(",") if name.strip()]
    unknown = [name for name in asked if name not in IMPLEMENTATIONS]
    known = tuple(name for name in IMPLEMENTATIONS if name in asked)
    if unknown:
        messages.warn(
            f"compared must be among {', '.join(IMPLEMENTATIONS)}; got {unknown[0][:60]!r}. "
            "It is left out."
        )
    if not known:
        known = tuple(str(state.ENTRIES["compared"].default).split(","))
    if unknown or not asked:
        state.put("compared", ",".join(known))
    return known


def draw(shown: tuple[str, ...]) -> None:
    """The choice."""
    from attention.implementations import IMPLEMENTATIONS

    st.multiselect(
        "Implementations",
        list(IMPLEMENTATIONS),
        format_func=lambda name: IMPLEMENTATIONS[name].title,
        default=list(shown),
        key=state.showing(KEY, list(shown)),
        on_change=_take,
        help="  \n".join(f"{entry.title}: {entry.summary}" for entry in IMPLEMENTATIONS.values()),
    )


def _take() -> None:
    chosen = state.chosen(KEY)
    if chosen:  # with none left there would be nothing to measure: the last one stays
        state.put("compared", ",".join(chosen))
