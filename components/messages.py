"""One sentence for each thing that can go wrong; never a traceback in the page."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from attention.errors import HeadscopeError

log = logging.getLogger("headscope")


_SHOWN, _REPEATED, _BY_ITSELF = "messages_shown", "messages_repeated", "messages_by_itself"


def begin() -> None:
    """At the start of a run: repeat the sentences that only the run before could know.

    Many are said once, when something is put right. Where the page runs again by itself, the
    reader has not moved on and must still see them.
    """
    shown = st.session_state.get(_SHOWN, [])
    again = st.session_state.pop(_BY_ITSELF, False)
    st.session_state[_SHOWN], st.session_state[_REPEATED] = [], []
    for kind, sentence in dict.fromkeys(shown) if again else ():
        _say(kind, sentence)
    st.session_state[_REPEATED] = list(st.session_state[_SHOWN])


def rerun() -> None:
    """Run the page again by itself, with the sentences that it shows."""
    st.session_state[_BY_ITSELF] = True
    st.rerun()


def note(sentence: str) -> None:
    """Say something that the reader should know, as plain text."""
    _say("info", sentence)


def warn(sentence: str) -> None:
    """Say what is wrong and what to do, as plain text."""
    _say("warning", sentence)


def _say(kind: str, sentence: str) -> None:
    said = (kind, sentence)
    if said in st.session_state.get(_REPEATED, []):
        return
    st.session_state.setdefault(_SHOWN, []).append(said)
    (st.info if kind == "info" else st.warning)(plain(sentence))


def plain(sentence: str) -> str:
    """A sentence whose characters mean nothing to Markdown: it may quote what a user typed."""
    special = set("\\`*_{}[]()<>#+-.!|~$:^=@&\"'/")
    return "".join(f"\\{c}" if c in special else c for c in " ".join(sentence.split()))


@contextmanager
def errors_as_sentences() -> Iterator[None]:
    """Show our own errors as their one sentence, anything else as a fault of ours.

    What follows the block runs on; a view returns from within the block when it cannot go on.
    Streamlit's own control flow passes through: it does not derive from Exception.
    """
    try:
        yield
    except HeadscopeError as error:
        warn(str(error))
    except Exception as error:
        log.exception("Unexpected error in the page")
        kind = type(error).__name__
        st.error(
            plain(
                f"This is our fault: Headscope met an error it does not know ({kind}). What you "
                "typed is kept. Please report it with what you did and the last lines in the "
                "terminal that Headscope was started from."
            )
        )
