"""The pictures of one run, laid out; choosing a head or a token redraws these alone.

The chosen head is drawn first, then the heads of its layer, then all others as they are looked at.
"""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from components import chosen, derived, sentences, sidebar, state, theme
from components.all_heads import draw_all_heads
from components.figures.detail import Detail
from components.figures.tiles import Viewed
from components.looks import Weights
from components.measuring import measuring
from components.messages import errors_as_sentences, plain
from components.parts import detail, explain, grid, guide, overview, strip, tiles
from components.scanning import SeenLayer
from components.shown import Shown
from components.waiting import telling

MOST_BESIDE = 8  # layers or heads whose map leaves room for layer and head beside each other
MEANING = "where each token looks"  # its term, attention pattern, is in `explain`


@st.fragment
def draw(record: derived.Record) -> None:
    """Draw all pictures of a run."""
    with measuring().held_off(), errors_as_sentences(), st.container(key="pictures"):
        look = sidebar.look()
        at = chosen.chosen(record)
        state.seen()
        _draw(Shown(record, derived.scan(record, look), at, look, theme.ink()))
    state.end()


def _draw(view: Shown) -> None:
    record, at, look = view.record, view.at, view.look
    guided, above = st.container(), st.container()
    left, right = st.columns([11, 10], gap="medium")
    with left, st.container(key="heads", gap="xsmall"):
        everything = _choices(record)
        with st.container(key="waiting"):  # takes no room
            slow = st.empty()
        layer = st.container(gap="xsmall")
    with right, st.container(key="one_head", gap="xsmall"):
        title = st.container(key="head_title", horizontal=True, vertical_alignment="center")
        picture, below = st.container(), st.container(gap="xsmall")
    tell = telling(slow, "Looking at the head")
    top = look.top(view.scan.layer(at.layer, tell).thumbnails) if look.to_maximum else 1.0
    head = derived.one_head(record, at.layer, at.head, look, tell)
    row = head.row(at.query)
    with above:
        shown = strip.Row(row, at.query, record.window(at.layer))
        strip.draw(record.tokens, shown, look, top, view.ink)
    with picture:
        _draw_head(view, head, row, top)
    seen = view.scan.layer(at.layer, telling(slow, "Looking at the layer’s heads"))
    slow.empty()
    with title:
        st.markdown(f"**Layer {at.layer} · head {at.head}** :small[{MEANING}]", width="content")
        explain.draw(seen.habits[at.head])
    with below:
        _tell_of_head(view, head, row, seen)
    with layer:
        _draw_layer(view, seen)
    with everything:
        overview.link(at, (record.num_layers, record.num_heads))
        if not state.on("all_heads"):
            draw_all_heads(view)
    with guided:
        guide.draw(state.text("text"), view.scan.habits)


def _draw_head(view: Shown, head: derived.Short | derived.Long, row: Weights, top: float) -> None:
    names, at, look = view.record.tokens.labels, view.at, view.look
    said = f"Layer {at.layer} · head {at.head}. {sentences.of_query(row, names, at.query)}"
    if isinstance(head, derived.Long):
        tiles.link(at.query, view.record.seq_len)
        tiles.draw(Viewed(head.long, head.survey, names, at.query, look, top), view.ink, said)
    else:
        window = view.record.window(at.layer)
        shown = Detail(head.pattern, names, look, top, window)
        place = (at.layer, at.head)
        detail.draw(shown, at.query, view.ink, said, run=view.scan.name, at=place)


def _tell_of_head(
    view: Shown, head: derived.Short | derived.Long, row: Weights, seen: SeenLayer
) -> None:
    names, at = view.record.tokens.labels, view.at
    habit = seen.habits[at.head]
    st.markdown(plain(sentences.of_head(at.layer, at.head, habit, head.for_sentence)))
    st.caption(plain(sentences.of_query(row, names, at.query)))
    if isinstance(head, derived.Long):
        tiles.table(row, head.survey, names, at.query)
    else:
        detail.table(head.pattern, names, at.query)


def _draw_layer(view: Shown, seen: SeenLayer) -> None:
    """All heads of the chosen layer, or all of all layers in its place."""
    record, at, look = view.record, view.at, view.look
    if state.on("all_heads"):
        draw_all_heads(view, large=True)
        return
    tokens = grid.Seen(record.tokens.labels, record.window(at.layer))

    def make() -> grid.Grid:
        tags = [sentences.tag(habit) for habit in seen.habits]
        return grid.make(
            seen.thumbnails,
            tags,
            tokens,
            run=view.scan.name,
            layer=at.layer,
            look=look,
            ink=view.ink,
        )

    grid.draw(view.scan.once(("grid", at.layer, look, view.ink), make))
    st.markdown(plain(sentences.of_layer(at.layer, seen.habits)))
    st.caption(plain(grid.legend(tokens, look, look.top(seen.thumbnails))))


def _choices(record: derived.Record) -> DeltaGenerator:
    """Draw the choice of layer and head. Returns the place for the map of all beside it."""
    many = max(record.num_layers, record.num_heads) > MOST_BESIDE and not state.on("all_heads")
    shares = [3, 10] if many else [3, 3, 7]  # a map of many needs the width
    *places, everything = st.columns(shares, gap="small", vertical_alignment="center", wrap=False)
    for key, count, place in zip(
        ("layer", "head"), (record.num_layers, record.num_heads), places * 2, strict=False
    ):
        with place:
            _choose(key, count)
    return everything


def _choose(key: str, count: int) -> None:
    st.number_input(
        f"{key.capitalize()}, 0–{count - 1}",
        min_value=0,
        max_value=count - 1,
        value=state.whole(key),
        step=1,
        key=state.slot(key),
        on_change=state.take,
        args=(key,),
    )
