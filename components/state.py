"""What the address holds: one table of keys, their defaults and what they may be.

`session_state[key]` is the truth and belongs to no widget, so it survives while a view is not
shown. A widget lives in a slot of its own (`slot(key)`) and hands its value over through `take`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from components.samples import SAMPLES

Value = str | int | bool
LONGEST_ADDRESS_TEXT = 2_000  # characters; more would not survive in every browser and server
_STARTED = "address_read"
_NOTES = "address_notes"
_SHOWN = "address_notes_shown"
_HELD = "address_held"
_SEEN = "address_seen"
_TURN = " turn"  # ends the name of how often a widget was replaced


@dataclass(frozen=True)
class Entry:
    """One thing that the address holds.

    Attributes:
        key: its name in the address and in the session.
        default: its value when the address says nothing; also fixes its type.
        read: the text in the address to a value; raises ValueError.
        rule: what `read` asks for, to follow "must be".
        bounds: the smallest and the largest value of a number.
    """

    key: str
    default: Value
    read: Callable[[str], Value]
    rule: str
    bounds: tuple[int, int] = (0, 0)


def choice(key: str, default: str, *others: str) -> Entry:
    """An entry that is one of a few words, the default among them."""
    options = (default, *others)

    def read(written: str) -> str:
        if written not in options:
            raise ValueError(written)
        return written

    return Entry(key, default, read, f"one of {', '.join(options)}")


def number(key: str, default: int, *, least: int = 0, most: int = 1 << 20) -> Entry:
    """An entry that is a whole number within bounds."""

    def read(written: str) -> int:
        value = int(written) if written.isascii() else least - 1
        if not least <= value <= most:
            raise ValueError(written)
        return value

    rule = f"a whole number from {least} to {most}"
    return Entry(key, default, read, rule, (least, most))


def switch(key: str, default: bool = False) -> Entry:
    """An entry that is on (1) or off (0)."""

    def read(written: str) -> bool:
        return {"1": True, "0": False}[written]

    return Entry(key, default, read, "1 or 0")


def words(key: str, default: str) -> Entry:
    """An entry that may be any text; who uses it checks it."""
    return Entry(key, default, str, "text")


ENTRIES: dict[str, Entry] = {
    entry.key: entry
    for entry in (
        choice("view", "explore", "loop-vs-batch", "forming"),
        # The run.
        words("text", SAMPLES[0].text),
        words("model", "embedded"),
        number("model_heads", 0, most=1024),  # 0: as many as the checkpoint says
        words("device", "cpu"),
        words("dtype", "float32"),
        words("implementation", "sdpa"),
        choice("bos", "model", "on", "off"),  # whether a BOS comes first; as the model expects
        number("threads", 0, most=1024),  # 0: half the cores
        # Explore.
        number("layer", 1),  # an induction head of the embedded model
        number("head", 0),
        number("query", -1, least=-1),  # -1: the last token
        number("timed_heads", 0),  # 0: all
        choice("colour", "cividis", "viridis"),
        switch("log"),
        switch("hide_first"),
        switch("to_maximum"),
        switch("all_heads"),  # all layers large, in the place of the chosen one
        # Watch heads form.
        number("moment", -1, least=-1, most=999),  # a checkpoint; -1: the last
        number("forming_layer", 1),  # an induction head of the model there
        number("forming_head", 3),
        # Loop vs batch.
        choice("reading", "total", "per_head"),
        number("d_out", 768, least=1, most=8192),
        number("d_out_per_head", 64, least=1, most=1024),
        number("heads", 4, least=1, most=256),
        number("max_heads", 16, least=1, most=256),
        number("seq_len", 0, most=16_384),  # 0: the length of the text
        number("batch", 1, least=1, most=256),
        choice("passes", "forward", "backward", "decode"),
        choice("allocator", "user", "tuned"),
        words("compared", "looped,batched,sdpa"),
        choice("figure", "time", "share", "memory", "operators", "kernels"),
        number("kv_heads", 0, most=256),  # 0: one to each head
        choice("l2", "cold", "warm"),
        switch("compiled"),
        number("patience", 600, least=1, most=86_400),  # seconds
    )
}


def begin() -> None:
    """Read the address on a session's first run, and again when the reader goes back in history."""
    run = get_script_run_ctx()
    went_back = run is not None and run.is_history_navigation
    if not st.session_state.get(_STARTED) or went_back:
        st.session_state[_STARTED] = True
        _read_address()


def _read_address() -> None:
    notes = []
    for key, entry in ENTRIES.items():
        value = entry.default
        if key in st.query_params:
            written = st.query_params[key]
            try:
                value = entry.read(written)
            except (ValueError, KeyError):
                notes.append(
                    f"{key} in the address must be {entry.rule}; got {written[:60]!r}. "
                    f"{entry.default!r} is shown."
                )
        put(key, value)
    st.session_state[_NOTES] = notes


def address_notes() -> list[str]:
    """What was wrong with the address, a sentence each; empty once the reader has moved on."""
    notes: list[str] = st.session_state.pop(_NOTES, [])
    st.session_state[_SHOWN] = notes
    return notes


def begin_again() -> NoReturn:
    """Run the page from the top for the same reader, who has not moved on: notes stay."""
    st.session_state[_NOTES] = st.session_state[_SHOWN]
    st.rerun()


def end() -> None:
    """Write what differs from the defaults into the address; for the end of a run or fragment."""
    values = _values() | st.session_state.get(_HELD, {})
    written = {
        key: _as_text(value) for key, value in values.items() if value != ENTRIES[key].default
    }
    others = {key: st.query_params[key] for key in st.query_params if key not in ENTRIES}
    if {**others, **written} != st.query_params.to_dict():
        st.query_params.from_dict({**others, **written})


def _values() -> dict[str, Value]:
    return {key: st.session_state[key] for key in ENTRIES}


def seen() -> None:
    """What is chosen now is about to be drawn."""
    st.session_state[_SEEN] = _values()


def unseen(*besides: str) -> bool:
    """Whether something was chosen since the last `seen`, besides these keys."""
    drawn = st.session_state.get(_SEEN, {})
    return any(st.session_state[key] != drawn[key] for key in drawn if key not in besides)


def hold(values: Mapping[str, Value]) -> None:
    """Have the address say this of some keys, whatever is asked for, until told otherwise."""
    st.session_state[_HELD] = dict(values)


def _as_text(value: Value) -> str:
    if isinstance(value, bool):
        return str(int(value))
    # Half a surrogate pair cannot be written in an address.
    return str(value).encode("utf-8", "replace").decode()[:LONGEST_ADDRESS_TEXT]


def slot(key: str) -> str:
    """The key of the widget that shows `key`; give it the present value too."""
    return showing(f"{key}_widget", st.session_state[key])


def showing(name: str, value: object) -> str:
    """The key of a widget that shows a value which does not come from it alone; give it both.

    Each message of the page holds every widget's value. One sent between a choice and its answer
    holds what they showed before, which is no choice of the reader's: taken for one, it would undo
    what they chose. So a widget that is to show something else is another widget, with a key of its
    own, and what is still said of the one before is heard by nobody.

    Args:
        name: begins the key, and is all of it until the first change.
        value: what the widget shows; the order of a list is the reader's.
    """
    turn = f"{name}{_TURN}"
    key = _current(name)
    if key in st.session_state and _in_order(st.session_state[key]) != _in_order(value):
        st.session_state[turn] = st.session_state.get(turn, 0) + 1
    return _current(name)


def _in_order(value: object) -> object:
    return sorted(value) if isinstance(value, list) else value


def _current(name: str) -> str:
    turn = st.session_state.get(f"{name}{_TURN}", 0)
    return f"{name}_{turn}" if turn else name


def chosen(name: str) -> Any:  # noqa: ANN401 - as many kinds as there are widgets
    """What the reader set a widget of `showing` to; None where it has gone."""
    return st.session_state.get(_current(name))


def take(key: str) -> None:
    """Hand the widget's value over; give it as `on_change` with `args=(key,)`."""
    value = chosen(f"{key}_widget")
    if value is not None:
        st.session_state[key] = value


def put(key: str, value: Value) -> None:
    """Change a value; the widget that shows it follows when it is drawn."""
    st.session_state[key] = value


def text(key: str) -> str:
    """The value of an entry that is text."""
    return str(_value(key, str))


def whole(key: str) -> int:
    """The value of an entry that is a number."""
    return int(_value(key, int))


def bounds(key: str) -> tuple[int, int]:
    """The smallest and the largest value of an entry that is a number."""
    return ENTRIES[key].bounds


def on(key: str) -> bool:
    """The value of an entry that is on or off."""
    return bool(_value(key, bool))


def _value(key: str, kind: type) -> Any:  # noqa: ANN401 - the three above give it its type
    value = st.session_state.get(key, ENTRIES[key].default)
    assert isinstance(value, kind), (key, value)
    return value
