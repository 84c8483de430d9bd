"""The slider over a training, and the pictures that follow it without a rerun of the page."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from components import forming_words, messages, sentences, state, theme
from components.figures.detail import Detail, detail_figure
from components.figures.forming import forming_figure, head_curves
from components.figures.grid import THUMBNAIL, Tiling, grid_figure
from components.film import STEPS, Film
from components.looks import HIGHEST, LOWEST, MASKED, Look, step
from components.messages import plain
from components.mounting import event, mount, pack
from components.parts import detail
from components.theme import Ink

LINK, KEPT = "forming_link", "forming_kept"
CHARTS = {"tiles": "forming_tiles", "detail": "forming_detail", "curves": "forming_curves"}
ALTS = {
    "tiles": "Every head at the chosen moment of the training, a small map each.",
    "detail": "The chosen head at that moment, a row for each token of the text.",
    "curves": "Losses and head scores over the training, the bump marked.",
}
FRAME_MS = 450
QUIET = {"displayModeBar": False}
At = tuple[int, int, int]  # checkpoint, layer, head


@dataclass
class Kept:
    """What stays the same from run to run, so that no chart is mounted anew.

    Attributes:
        look: of the page; another one needs other figures.
        start: where the browser begins; changes only with what it does not know yet.
        told: what the browser knows to be chosen.
        turn: how often there was a new start.
        figures: those that Streamlit holds; the browser draws the present ones over them.
    """

    look: tuple[object, ...]
    start: At
    told: At
    turn: int = 0
    figures: dict[str, go.Figure] = field(default_factory=dict)


def settle(film: Film) -> None:
    """Put a checkpoint, layer or head that there is not right, and say so."""
    checkpoints, layers, heads = film.shape
    counts = {"moment": checkpoints, "forming_layer": layers, "forming_head": heads}
    for key, count in counts.items():
        asked = state.whole(key)
        if asked >= count:
            messages.note(
                f"{key} must be 0 to {count - 1} for this model; got {asked}. {count - 1} is shown."
            )
            state.put(key, count - 1)


def chosen(film: Film) -> At:
    """What is looked at in this run."""
    asked = state.whole("moment")
    moment = film.shape[0] - 1 if asked < 0 else asked
    return moment, state.whole("forming_layer"), state.whole("forming_head")


def draw(film: Film) -> None:
    """Draw the slider, its sentences, and the pictures below."""
    at, ink = chosen(film), theme.ink()
    look = Look(scale=state.text("colour"), hide_first=state.on("hide_first"))
    kept = _kept((theme.is_dark(), look), at)
    figures = make_figures(film, kept.start, look, ink)
    kept.figures = kept.figures or figures
    header = {**make_header(film, figures, ink), "hideFirst": look.hide_first}
    data = pack({**header, "start": kept.start, "turn": kept.turn}, film.packed)
    mount("forming", LINK, data, {"moment": _take_moment, "head": _take_head})
    left, right = st.columns([11, 10], gap="medium")
    with left, st.container(key="forming_left", gap="xsmall"):
        _chart("tiles", kept)
        _chart("curves", kept)
        st.caption(plain(_legend(film, look)))
    with right, st.container(key="forming_right", gap="xsmall"):
        _chart("detail", kept)
        moment, layer, head = at
        weights = film.shown(moment, look)[layer, head]
        detail.table(weights, film.tokens.labels, len(film.tokens) - 1)


def _kept(look: tuple[object, ...], at: At) -> Kept:
    kept: Kept | None = st.session_state.get(KEPT)
    if kept is None or kept.look != look or LINK not in st.session_state:
        kept = Kept(look, at, at)
    elif kept.told != at:  # changed by the address, not in the browser
        kept = Kept(look, at, at, kept.turn + 1, kept.figures)
    st.session_state[KEPT] = kept
    return kept


def _chart(name: str, kept: Kept) -> None:
    key = CHARTS[name]
    options = detail.OPTIONS if name == "detail" else QUIET
    with st.container(key=f"{key}_place"):
        st.plotly_chart(
            kept.figures[name], key=key, config=options, theme=None, alt=ALTS[name],
            height="stretch",
        )  # fmt: skip


def _legend(film: Film, look: Look) -> str:
    by = step(len(film.tokens), THUMBNAIL)
    cell = f" Each cell is the largest of {by} × {by} weights." if by > 1 else ""
    rest = " The first token is hidden, the rest renormalised." if look.hide_first else ""
    return (
        "Maps: heads as layer.head, under each what it does on random tokens that come twice. "
        f"Colour: weight from 0 to 1.{cell}{rest} Curves: dotted are the chosen head's own scores; "
        "a click goes to that moment."
    )


def make_figures(film: Film, at: At, look: Look, ink: Ink) -> dict[str, go.Figure]:
    """The three figures at one checkpoint; the browser changes what moves in them."""
    moment, layer, head = at
    names, tags = head_names(film), head_tags(film)[moment]
    thumbnails = film.thumbnails(moment, THUMBNAIL, look)
    large = go.Figure(
        detail_figure(
            Detail(film.shown(moment, look)[layer, head], film.tokens.labels, look, 1.0), ink
        )
    )
    tiles = grid_figure(thumbnails, tags, look=look, top=1.0, ink=ink, names=names)
    large.update_layout(
        margin={"t": 34},
        title={
            "text": title(film, moment, layer, head),
            "font": {"size": 15, "color": ink.text},
            "x": 0,
            "xref": "paper",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "pad": {"t": 6},
        },
    )
    history = film.formation.history
    return {
        "tiles": go.Figure(tiles),
        "detail": large,
        "curves": forming_figure(history, film.formation.tokens[moment], (layer, head), ink),
    }


def title(film: Film, moment: int, layer: int, head: int) -> str:
    """What stands over the large picture."""
    tokens = forming_words.millions(film.formation.tokens[moment])
    return f"<b>Layer {layer} · head {head}</b> after {tokens} tokens"


def head_names(film: Film) -> list[str]:
    """Layer.head of every head."""
    _, layers, heads = film.shape
    return [f"{layer}.{head}" for layer in range(layers) for head in range(heads)]


def head_tags(film: Film) -> list[list[str]]:
    """What each head does at each checkpoint on random tokens that come twice."""
    from attention.scores import label_heads

    return [
        [sentences.tag(label) for layer in label_heads(look.scores) for label in layer]
        for look in film.formation.looks
    ]


def make_header(film: Film, figures: Mapping[str, go.Figure], ink: Ink) -> dict[str, Any]:
    """All that the browser needs beside the weights."""
    checkpoints, layers, heads = film.shape
    formation, seq_len = film.formation, len(film.tokens)
    by = step(seq_len, THUMBNAIL)
    tiling = Tiling(layers * heads, -(-seq_len // by))
    bump = formation.bump
    inside = [i for i, t in enumerate(formation.tokens) if bump.start <= t <= bump.end]
    return {
        "charts": CHARTS,
        "figures": {name: figure.to_json() for name, figure in figures.items()},
        "layers": layers,
        "heads": heads,
        "seqLen": seq_len,
        "steps": STEPS,
        "tiling": {
            "side": tiling.side, "pitchX": tiling.pitch_x, "pitchY": tiling.pitch_y,
            "columns": tiling.columns, "rows": tiling.shape[0], "cells": tiling.shape[1],
            "step": by,
        },
        "codes": {"masked": MASKED, "lowest": LOWEST, "highest": HIGHEST},
        "labels": film.tokens.labels,
        "tokens": formation.tokens,
        "amounts": [forming_words.millions(tokens) for tokens in formation.tokens],
        "bump": [min(inside, default=0), max(inside, default=0)],
        "tags": head_tags(film),
        "moments": [forming_words.of_moment(look, bump) for look in formation.looks],
        "said": [forming_words.of_heads(film, moment) for moment in range(checkpoints)],
        "titles": [
            [title(film, moment, *divmod(i, heads)) for i in range(layers * heads)]
            for moment in range(checkpoints)
        ],
        "curves": [
            [np.round(curve.values, 3).tolist() for curve in head_curves(formation.history, *at)]
            for at in np.ndindex(layers, heads)
        ],
        "accent": ink.accent,
        "frameMs": FRAME_MS,
        "label": f"All heads: {layers} layers of {heads} heads. Arrow keys choose one.",
    }  # fmt: skip


def _take_moment() -> None:
    sent = event(LINK, "moment")
    if isinstance(sent, int) and sent >= 0:
        state.put("moment", sent)
        _told(moment=sent)


def _take_head() -> None:
    sent = event(LINK, "head")
    if isinstance(sent, list) and len(sent) == 2 and all(isinstance(n, int) for n in sent):
        layer, head = max(0, sent[0]), max(0, sent[1])
        state.put("forming_layer", layer)
        state.put("forming_head", head)
        _told(head=(layer, head))


def _told(*, moment: int | None = None, head: tuple[int, int] | None = None) -> None:
    """Remember what the browser knows, so that it is not told again."""
    kept: Kept | None = st.session_state.get(KEPT)
    if kept is not None:
        before, *rest = kept.told
        layer, number = rest if head is None else head
        kept.told = (before if moment is None else moment, layer, number)
