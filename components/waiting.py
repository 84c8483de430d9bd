"""Work that the page waits for, or looks at again and again while it goes on elsewhere."""

import time

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import get_script_run_ctx

from attention.progress import Progress
from components import state
from components.mounting import mount

SOON_S = 0.4  # work that takes longer is told of
OFTEN_S = 0.2  # between two words about it
COUNT = "again_count"


def telling(place: DeltaGenerator, doing: str) -> Progress:
    """What long work calls now and then with the share that is done, up to 1.

    Each word to the page is also where Streamlit ends a run that a newer text or choice has
    overtaken.

    Args:
        place: where it is said how far the work is.
        doing: what is being done, such as "Running the text".
    """
    begun = said = time.monotonic()

    def tell(share: float) -> None:
        nonlocal said
        now = time.monotonic()
        if now - begun > SOON_S and now - said > OFTEN_S:
            said = now
            left = (now - begun) / share * (1 - share) if share else None
            about = "" if left is None else f", about {max(1, round(left))} s left"
            place.caption(f"{doing}: {share:.0%}{about}")

    return tell


def again_soon(key: str, wait_ms: int) -> None:
    """Have the fragment that this is drawn in run again after a while, once.

    Unlike a fragment's own timer it ends by itself, where it is not drawn again.

    Args:
        key: of its place in the session.
        wait_ms: milliseconds.
    """
    count = st.session_state[COUNT] = st.session_state.get(COUNT, 0) + 1
    mount("again", key, {"count": count, "wait": wait_ms}, {"again": _nothing})


def catch_up(*own: str) -> None:
    """For the beginning of a fragment that asks for its own runs: show what was chosen elsewhere.

    What happens in two fragments at the same time comes as one message, which runs only the one
    that was first. A choice that came along with the asking is then shown by nobody.

    Args:
        own: what of the address is chosen in the fragment itself.
    """
    run = get_script_run_ctx()
    if run is not None and run.fragment_ids_this_run and state.unseen(*own):
        st.rerun()


def _nothing() -> None:
    """The run that the event brings is all that is wanted."""
