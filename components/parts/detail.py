"""One head, large, with its strongest weights as a table for those who cannot see it."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import streamlit as st

from components import state
from components.figures.detail import Detail, detail_figure
from components.figures.drawing import as_json
from components.live import fall_back, place_chart
from components.long_head import Cell
from components.looks import Weights
from components.messages import plain
from components.mounting import event, mount, pack
from components.parts.overview import CHANNEL
from components.theme import Ink

CHART, LINK = "detail", "detail_link"
OPTIONS = {
    "displaylogo": False,
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
    "toImageButtonOptions": {"format": "svg", "filename": "headscope-head"},
}
STRONGEST = 20  # rows of the table


def draw(detail: Detail, query: int, ink: Ink, alt: str, *, run: str, at: tuple[int, int]) -> None:
    """Draw the head; a click on a row makes it the query.

    Args:
        detail: what to show.
        query: whose row is framed.
        ink: the page's colours.
        alt: what the picture shows, in words.
        run: a name that no other text's has; heads of the layer's grid with it are drawn by the
            browser itself as soon as they are chosen.
        at: layer and head.
    """
    figure = detail_figure(detail, ink)
    with st.container(key="detail_place"):  # its height follows the window: assets/css
        place_chart(CHART, figure, options=OPTIONS, alt="One head: a row for each token.")
    header = {
        "chart": CHART,
        "kind": "detail",
        "channel": CHANNEL,
        "run": run,
        "at": at,
        "plain": not detail.look.log,
        "figure": as_json(figure),
        "label": alt,
        "query": query,
        "step": detail.step,
        "window": detail.window,
        "reach": detail.reach,
        "labels": list(detail.labels),
        "of": " of the rest" if detail.look.hide_first else "",
        "accent": ink.accent,
    }
    mount("chart", LINK, pack(header, b""),
          {"query": _choose, "missing": partial(fall_back, CHART)})  # fmt: skip


def _choose() -> None:
    query = event(LINK, "query")
    if isinstance(query, int) and query >= 0:
        state.put("query", query)


def table(weights: Weights, labels: Sequence[str], query: int) -> None:
    """The strongest weights in words: of the query's row, then of the whole head."""
    opened = st.expander("Strongest weights as a table", on_change="rerun", key="weights_table")
    if not opened.open:
        return
    with opened:
        st.caption(plain(f"Row of token {query}, “{labels[query]}”"))
        st.code(listing(weights[query : query + 1], labels, first_query=query), language=None)
        st.caption(f"The {STRONGEST} strongest of the head")
        st.code(listing(weights, labels), language=None)


def listing(weights: Weights, labels: Sequence[str], *, first_query: int = 0) -> str:
    """The strongest cells as lines of text, query, key, weight; ties in the text's order."""
    flat = np.nan_to_num(weights).ravel()
    order = [int(i) for i in np.argsort(-flat, kind="stable")[:STRONGEST] if flat[i] > 0]
    width = weights.shape[1]
    cells = [(first_query + i // width, i % width, float(flat[i])) for i in order]
    return as_lines(cells, labels)


def as_lines(cells: Sequence[Cell], labels: Sequence[str]) -> str:
    """Cells as lines of text: query, key, weight."""
    names = [(f"{query} {labels[query]}", f"{key} {labels[key]}") for query, key, _ in cells]
    wide = max([len("query"), *(len(name) for name, _ in names)])
    wide_key = max([len("key"), *(len(name) for _, name in names)])
    lines = [f"{'query':<{wide}}  {'key':<{wide_key}}  weight"]
    for (query, key), (_, _, weight) in zip(names, cells, strict=True):
        lines.append(f"{query:<{wide}}  {key:<{wide_key}}  {weight:.4g}")
    return "\n".join(lines)
