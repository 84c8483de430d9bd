"""One head of a long text: a picture to zoom into and to pan, down to each exact weight."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from components import state
from components.figures.tiles import Request, Viewed, answer
from components.long_head import Survey
from components.looks import HIGHEST, LOWEST, MASKED, Weights, packed
from components.messages import plain
from components.mounting import event, mount, pack
from components.parts.detail import as_lines, listing
from components.theme import Ink, lookup

KEY, ASKED, SENT, MISSING = "tiles", "tiles_asked", "tiles_sent", "tiles_missing"
LINK, CHANNEL = "query_link", "query"


@st.fragment
def draw(viewed: Viewed, ink: Ink, alt: str) -> None:
    """Draw the head; zooming and panning run this alone.

    Args:
        viewed: what is looked at.
        ink: the page's colours.
        alt: what the picture shows, in words.
    """
    if st.session_state.get(MISSING):
        st.image(plain_picture(viewed, ink), width="stretch")
        by = viewed.survey.by
        st.caption(
            plain(
                f"This browser cannot draw the picture to zoom into, so here it is as it is: a dot "
                f"is the largest of {by} × {by} weights. The strongest are in the table below."
            )
        )
        return
    wanted = Request.read(st.session_state.get(ASKED))
    # What was sent before is not sent again, unless the browser asks: it may have begun anew.
    sent = (viewed.name, wanted.number, viewed.text)
    before = st.session_state.get(SENT, ("", wanted.number, ""))
    st.session_state[SENT] = sent
    anew = wanted.number != before[1] and not wanted.has
    labelled = viewed.text == before[2] and not anew
    header, body = answer(viewed, wanted, ink, sent=sent == before, labelled=labelled)
    header["label"] = (
        f"{alt} {len(viewed.labels):,} tokens. Arrow keys move, + and − zoom, 0 shows all, "
        "Enter chooses a token, F follows it."
    )
    mount("tiles", KEY, pack(header, body), {"ask": _ask, "missing": _give_up})


def link(query: int, count: int) -> None:
    """Take the choice of a token from the picture, in the fragment of all that shows it.

    Args:
        query: whose row is framed.
        count: tokens; a choice beyond them is of a text that has gone.
    """
    told = {"name": CHANNEL, "value": query, "event": "query"}
    mount("link", LINK, told, {"query": partial(_choose, count)})


def _ask() -> None:
    st.session_state[ASKED] = event(KEY, "ask")


def _choose(count: int) -> None:
    query = event(LINK, "query")
    if type(query) is int and 0 <= query < count:
        state.put("query", query)


def _give_up() -> None:
    st.session_state[MISSING] = True


def plain_picture(viewed: Viewed, ink: Ink) -> NDArray[np.uint8]:
    """The overview as a picture: (down, across, 3), red green blue."""
    colours = np.zeros((HIGHEST + 1, 3), dtype=np.uint8)
    colours[MASKED] = [int(ink.masked[i : i + 2], 16) for i in (1, 3, 5)]
    colours[LOWEST:] = lookup(viewed.look.scale, HIGHEST - LOWEST + 1)
    picture: NDArray[np.uint8] = colours[packed(viewed.survey.overview, viewed.look, viewed.top)]
    return picture


def table(row: Weights, survey: Survey, labels: Sequence[str], query: int) -> None:
    """The strongest weights in words: of the query's row, then of the whole head.

    Args:
        row: what the query looks at.
        survey: of the head.
        labels: of the tokens.
        query: its place.
    """
    opened = st.expander("Strongest weights as a table", on_change="rerun", key="weights_table")
    if not opened.open:
        return
    with opened:
        st.caption(plain(f"Row of token {query}, “{labels[query]}”"))
        st.code(listing(row[None], labels, first_query=query), language=None)
        st.caption(f"The {len(survey.strongest)} strongest of the head")
        st.code(as_lines(survey.strongest, labels), language=None)
