"""What Streamlit and Plotly lack: components of ours, their JavaScript read from assets/js."""

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

import streamlit as st

JS = Path(__file__).parents[1] / "assets" / "js"
NEEDS = {"chart": ("over",), "live_chart": ("over",)}  # what is put before a component's own code


def mount(
    name: str,
    key: str,
    data: bytes | Mapping[str, Any],
    on: Mapping[str, Callable[[], None]] | None = None,
    *,
    width: Literal["stretch", "content"] = "stretch",
) -> None:
    """Put a component on the page.

    What a user typed belongs in `data`, which the component writes as text, never as HTML.

    Args:
        name: its file in assets/js, without the ending.
        key: its key in the session.
        data: what it shows.
        on: for each of its events what to call; `event(key, name)` gives the value.
        width: that of its place, or its own.
    """
    # Registered at every mounting: cheap, and right after a restart of the runtime too.
    component = st.components.v2.component(f"headscope_{name}", js=_source(name))
    calls: dict[str, Any] = {f"on_{event}_change": call for event, call in (on or {}).items()}
    component(key=key, data=data, width=width, **calls)


def event(key: str, name: str) -> Any:  # noqa: ANN401 - whatever the component sent
    """What a component sent with an event, or None; that too where it has gone meanwhile."""
    return st.session_state.get(key, {}).get(name)


def pack(header: Mapping[str, Any], body: bytes) -> bytes:
    """A header and raw bytes as one block, which `unpack` in the components takes apart."""
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 4)  # the body may be 32-bit numbers
    return len(head).to_bytes(4, "little") + head + body


@cache
def _source(name: str) -> str:
    parts = ("shared", *NEEDS.get(name, ()), name)
    return "\n".join((JS / f"{part}.js").read_text(encoding="utf-8") for part in parts)
