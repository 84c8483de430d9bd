"""The pictures of one run, laid out; choosing a head or a token redraws these alone."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from components import chosen, derived, sentences, sidebar, state, theme
from components.figures.detail import Detail
from components.figures.grid import THUMBNAIL
from components.figures.tiles import Viewed
from components.messages import errors_as_sentences, plain
from components.parts import detail, explain, grid, guide, overview, strip, tiles

MOST_BESIDE = 8  # layers or heads whose map leaves room for layer and head beside each other
MEANING = "where each token looks"  # its term, attention pattern, is in `explain`


@st.fragment
def draw(record: derived.Record) -> None:
    """Draw all pictures of a run."""
    with errors_as_sentences(), st.container(key="pictures"):
        _draw(record)
    state.end()


def _draw(record: derived.Record) -> None:
    look, ink = sidebar.look(), theme.ink()
    at = chosen.chosen(record)
    labels = derived.labels(record)
    tags = [[sentences.tag(label) for label in layer] for layer in labels]
    thumbnails = derived.layer_thumbnails(record, at.layer, THUMBNAIL, look)
    top = look.top(thumbnails)
    names, window = record.tokens.labels, record.window(at.layer)
    seen = grid.Seen(names, window)

    head = derived.one_head(record, at.layer, at.head, look)
    row = head.row(at.query)
    guide.draw(state.text("text"), labels)
    strip.draw(record.tokens, strip.Row(row, at.query, window), look, top, ink)
    left, right = st.columns([11, 10], gap="medium")
    with left, st.container(key="heads", gap="xsmall"):
        side = overview.side(record.num_layers * record.num_heads)
        with _choices(record):
            all_thumbnails = derived.all_thumbnails(record, side, look)
            overview.draw(all_thumbnails, tags, at, look, ink)
        grid.draw(thumbnails, tags[at.layer], seen, chosen=at, look=look, ink=ink)
        st.markdown(plain(sentences.of_layer(at.layer, labels[at.layer])))
        st.caption(plain(grid.legend(seen, look, top) + _of_the_beginning(record)))
    with right, st.container(key="one_head", gap="xsmall"):
        habit = labels[at.layer][at.head]
        said = sentences.of_head(at.layer, at.head, habit, head.for_sentence)
        with st.container(key="head_title", horizontal=True, vertical_alignment="center"):
            st.markdown(f"**Layer {at.layer} · head {at.head}** :small[{MEANING}]", width="content")
            explain.draw(habit)
        if isinstance(head, derived.Long):
            tiles.draw(Viewed(head.long, head.survey, names, at.query, look, top), ink, said)
        else:
            detail.draw(Detail(head.pattern, names, look, top, window), at.query, ink, said)
        st.markdown(plain(said))
        st.caption(plain(sentences.of_query(row, names, at.query)))
        if isinstance(head, derived.Long):
            tiles.table(row, head.survey, names, at.query)
        else:
            detail.table(head.pattern, names, at.query)


def _of_the_beginning(record: derived.Record) -> str:
    """What is said where not all of a long text was looked at for every head."""
    seen = derived.beginning(record).seq_len
    if seen == record.seq_len:
        return ""
    return (
        f" What heads do, and the small map of all, are told from the first {seen:,} tokens: all "
        f"{record.num_layers * record.num_heads} heads on {record.seq_len:,} would take minutes."
    )


def _choices(record: derived.Record) -> DeltaGenerator:
    """Draw the choice of layer and head. Returns the place for the map of all beside it."""
    many = max(record.num_layers, record.num_heads) > MOST_BESIDE
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
        step=1,
        key=state.slot(key),
        on_change=state.take,
        args=(key,),
    )
