"""Losses and head scores over a training, with the stretch in which its heads form."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from components.figures.labels import TEXT_FONT
from components.theme import Ink

if TYPE_CHECKING:
    from attention.history import History

# Told apart by colour-blind readers, and on both pages' backgrounds; none is an implementation's.
COLOURS = {
    "previous_token": "#3B8FC4",
    "current_token": "#B97F00",
    "first_token": "#7A7F8E",
    "duplicate_token": "#00936A",
    "induction": "#C2649A",
}
LINE, FAINT = 2.0, 1.2  # px
LABELS_APART = 0.16  # of a panel's height
RIGHT_PX = 136  # for the lines' names
PANELS = {"y": (0.54, 1.0), "y2": (0.0, 0.46)}


@dataclass(frozen=True)
class Curve:
    """One line of the chart.

    Attributes:
        name: what is written at its end.
        values: one at each look; NaN where there is none.
        colour: of the line and its name.
        dash: the line's pattern, in Plotly's words.
    """

    name: str
    values: Sequence[float]
    colour: str
    dash: str = "solid"


def loss_curves(history: "History", ink: Ink) -> list[Curve]:
    """The losses, nats a token."""
    repeats = COLOURS["induction"]
    return [
        Curve("random, 1st time", history.losses("first_copy_loss").tolist(), repeats, "dot"),
        Curve("held-out text", history.losses("held_out_loss").tolist(), ink.text),
        Curve("training", history.losses("train_loss").tolist(), ink.muted, "dash"),
        Curve("random, 2nd time", history.losses("second_copy_loss").tolist(), repeats),
    ]


def score_curves(history: "History") -> list[Curve]:
    """For each kind of head that there is at the end, the score of the head that shows it best."""
    from attention.scores import HEAD_METRICS

    found = []
    for metric, colour in COLOURS.items():
        score, layer, head = history.looks[-1].best(metric)
        if score >= HEAD_METRICS[metric].threshold:
            values = history.scores(metric)[:, layer, head].tolist()
            name = HEAD_METRICS[metric].label
            found.append(Curve(f"{name} {layer}.{head}", values, colour))
    return found


def head_curves(history: "History", layer: int, head: int) -> list[Curve]:
    """The same scores of one head."""
    names = {colour: metric for metric, colour in COLOURS.items()}
    return [
        Curve("", history.scores(names[curve.colour])[:, layer, head].tolist(), curve.colour, "dot")
        for curve in score_curves(history)
    ]


def forming_figure(history: "History", tokens: int, head: tuple[int, int], ink: Ink) -> go.Figure:
    """Two panels over the tokens trained on: losses above, scores below.

    Args:
        history: all looks.
        tokens: where the line of the chosen checkpoint stands.
        head: layer and head whose own scores are drawn dotted.
        ink: the page's colours.
    """
    losses, scores = loss_curves(history, ink), score_curves(history)
    chosen = head_curves(history, *head)
    millions = history.tokens / 1e6
    top = math.ceil(max(np.nanmax(curve.values) for curve in losses))
    figure = go.Figure(
        [
            *(_line(curve, millions, "y", LINE) for curve in losses),
            *(_line(curve, millions, "y2", LINE) for curve in scores),
            *(_line(curve, millions, "y2", FAINT) for curve in chosen),
        ]
    )
    figure.update_layout(
        margin={"l": 44, "r": RIGHT_PX, "t": 20, "b": 36},
        plot_bgcolor="rgba(0,0,0,0)",
        paper_bgcolor="rgba(0,0,0,0)",
        font={"family": TEXT_FONT, "size": 12, "color": ink.text},
        showlegend=False,
        hovermode="x",
        hoverlabel={"font": {"family": TEXT_FONT, "size": 12}},
        dragmode=False,
        shapes=[*_bump(history, ink), _mark(tokens, ink)],
        annotations=[
            *_names(losses, "y", top),
            *_names(scores, "y2", 1.0),
            *_titles(history, ink),
        ],
        **_axes(float(millions[-1]), top, ink),
    )
    return figure


def _line(curve: Curve, millions: np.ndarray, axis: str, width: float) -> go.Scatter:
    unit = "" if axis == "y2" else " nats"
    said = f"{curve.name} %{{y:.2f}}{unit}<extra></extra>"
    return go.Scatter(
        x=millions,
        y=[None if np.isnan(value) else value for value in curve.values],
        yaxis=axis,
        mode="lines",
        line={"color": curve.colour, "dash": curve.dash, "width": width},
        hovertemplate=said if curve.name else None,
        hoverinfo=None if curve.name else "skip",
    )


def _axes(last: float, top: float, ink: Ink) -> dict[str, object]:
    shared = {
        "gridcolor": ink.line,
        "linecolor": ink.line,
        "zeroline": False,
        "fixedrange": True,
        "tickfont": {"size": 11, "color": ink.muted},
        "title": {"font": {"size": 12, "color": ink.muted}, "standoff": 4},
    }

    def titled(words: str) -> dict[str, object]:
        return {**shared, "title": {"font": {"size": 12, "color": ink.muted}, "text": words}}

    x = {**titled("tokens trained on, millions"), "range": [0, last], "anchor": "y2"}
    return {
        "xaxis": {**x, "showgrid": False},
        "yaxis": {
            **titled("loss, nats"),
            "range": [0, top],
            "domain": PANELS["y"],
            "dtick": 2 if top < 9 else 4,
        },
        "yaxis2": {
            **titled("head score"),
            "range": [0, 1.02],
            "domain": PANELS["y2"],
            "dtick": 0.25,
        },
    }


def _bump(history: "History", ink: Ink) -> list[dict[str, object]]:
    """The band over both panels, then the lines where a stage of the recipe begins."""
    bump = history.bump
    band = {
        "type": "rect",
        "x0": bump.start / 1e6,
        "x1": bump.end / 1e6,
        "y0": 0,
        "y1": 1,
        "yref": "paper",
        "fillcolor": ink.accent,
        "opacity": 0.1,
        "line": {"width": 0},
        "layer": "below",
    }
    return [band, *(_upright(tokens, ink.muted, "dot", 1) for tokens, _ in stage_starts(history))]


def stage_starts(history: "History") -> list[tuple[int, str]]:
    """Where each stage but the first begins: tokens, and the stage's name."""
    looks = history.looks
    return [
        (before.tokens, after.stage)
        for before, after in pairwise(looks)
        if before.stage != after.stage
    ]


def _mark(tokens: int, ink: Ink) -> dict[str, object]:
    return {**_upright(tokens, ink.accent, "solid", 2), "name": "checkpoint"}


def _upright(tokens: int, colour: str, dash: str, width: float) -> dict[str, object]:
    at = tokens / 1e6
    line = {"color": colour, "dash": dash, "width": width}
    return {"type": "line", "x0": at, "x1": at, "y0": 0, "y1": 1, "yref": "paper", "line": line}


def _names(curves: Sequence[Curve], axis: str, top: float) -> list[dict[str, object]]:
    """Each line's name at its end, moved apart where the lines end close to each other."""
    places = apart([curve.values[-1] / top for curve in curves], LABELS_APART)
    return [
        {
            "x": 1,
            "xref": "paper",
            "xanchor": "left",
            "xshift": 6,
            "y": place * top,
            "yref": axis,
            "text": curve.name,
            "showarrow": False,
            "font": {"size": 12, "color": curve.colour},
        }
        for curve, place in zip(curves, places, strict=True)
    ]


def apart(heights: Sequence[float], least: float) -> list[float]:
    """The same heights, moved as little as keeps them `least` apart, in their order, within 0-1.

    Example:
        0.5 and 0.5, 0.1 apart, become 0.5 and 0.6.
    """
    placed = [0.0] * len(heights)
    free = 0.0
    for i in sorted(range(len(heights)), key=heights.__getitem__):
        placed[i] = free = max(heights[i], free)
        free += least
    over = max(placed, default=0.0) - 1
    if over <= 0:
        return placed
    limit = 1.0
    for i in sorted(range(len(heights)), key=placed.__getitem__, reverse=True):
        placed[i] = min(placed[i], limit)
        limit = placed[i] - least
    return placed


def _titles(history: "History", ink: Ink) -> list[dict[str, object]]:
    """What the band and the dotted lines are."""
    bump = history.bump
    found: list[dict[str, object]] = [
        {
            "x": (bump.start + bump.end) / 2e6,
            "y": 1,
            "yref": "paper",
            "yanchor": "bottom",
            "text": "the bump: induction forms",
            "showarrow": False,
            "font": {"size": 12, "color": ink.accent},
        }
    ]
    for tokens, stage in stage_starts(history):
        found.append(
            {
                "x": tokens / 1e6,
                "y": 0.5,
                "yref": "paper",
                "xanchor": "left",
                "text": f"{stage} from here",
                "showarrow": False,
                "font": {"size": 11, "color": ink.muted},
            }
        )
    return found
