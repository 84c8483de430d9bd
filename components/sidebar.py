"""The controls beside the pictures: model, device, how the heads are run, how they look."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from components import messages, resources, state
from components.looks import Look

if TYPE_CHECKING:
    from attention.devices import Device

MAIN_WAYS = ("looped", "batched", "sdpa")  # the rest is under Advanced
TOO_SLOW = ("reference",)  # a plain loop over positions: seconds for a sentence


@dataclass(frozen=True)
class Run:
    """What a text is run with.

    Attributes:
        source: which model.
        device: where.
        dtype: a key of DTYPES.
        implementation: a key of IMPLEMENTATIONS.
    """

    source: str
    device: str
    dtype: str
    implementation: str


def controls(*, pictures: bool = True) -> Run:
    """Draw the sidebar's controls; what they ask for is seen to be possible here.

    Args:
        pictures: whether the page shows heads: how they are run and coloured.
    """
    source = _known_model()
    device = _usable_device()
    refusals = _refusals(source, device.name)
    ways = _usable_ways(refusals)
    with st.sidebar:
        _models()
        _devices()
        if pictures:
            _ways(ways)
            _looks()
        with st.expander("Advanced"):
            _advanced(device)
            if pictures:
                st.checkbox(
                    "Offer every way to run heads", key="offer_all_ways", help=_left_out(refusals)
                )
            else:
                _patience()
    return Run(source, device.name, state.text("dtype"), state.text("implementation"))


def look() -> Look:
    """How weights are shown."""
    return Look(
        scale=state.text("colour"),
        log=state.on("log"),
        hide_first=state.on("hide_first"),
        to_maximum=state.on("to_maximum"),
    )


def _known_model() -> str:
    sources = [found.source for found in resources.models()]
    source = state.text("model")
    if source not in sources:
        messages.warn(
            f"model must be one of {', '.join(sources)}; got {source[:60]!r}. "
            f"{sources[0]} is shown."
        )
        state.put("model", sources[0])
    return state.text("model")


def _usable_device() -> "Device":
    """The device and dtype asked for, or the nearest that work here, with a sentence why not."""
    from attention.devices import find_device
    from attention.errors import HeadscopeError

    asked = (state.text("device"), state.text("dtype"))
    refused = None
    for name, dtype in (asked, (asked[0], "float32"), ("cpu", "float32")):
        try:
            device = find_device(name, dtype)
        except HeadscopeError as error:
            refused = refused or str(error)
            continue
        if refused:
            messages.warn(f"{refused} {device.title} with {dtype} is used instead.")
        for key, value in (("device", device.name), ("dtype", dtype)):
            if state.text(key) != value:
                state.put(key, value)
        return device
    raise AssertionError("every machine has a CPU that does float32")


def _models() -> None:
    known = {found.source: found for found in resources.models()}

    def title(source: str) -> str:
        found = known[source]
        if found.config is None:
            return f"{source} (cannot be opened)"
        return f"{source} ({found.config.num_layers} × {found.config.num_heads} heads)"

    st.selectbox(
        "Model",
        list(known),
        format_func=title,
        key=state.slot("model"),
        on_change=state.take,
        args=("model",),
    )


def _devices() -> None:
    devices = {device.name: device for device in resources.devices()}

    def title(name: str) -> str:
        device = devices[name]
        return device.title if device.available else f"{device.title}: not here, {device.why_not}"

    st.selectbox(
        "Device",
        list(devices),
        format_func=title,
        key=state.slot("device"),
        on_change=state.take,
        args=("device",),
        help="Where the model runs. A device that is not available is listed with the reason.",
    )


def _refusals(source: str, device: str) -> dict[str, str | None]:
    """Of every way to run heads why it is not for this model there, None for one that is."""
    from attention.implementations import IMPLEMENTATIONS

    return {name: _why_not(name, source, device) for name in IMPLEMENTATIONS}


def _left_out(refusals: dict[str, str | None]) -> str:
    """Which ways are not offered and why, as Markdown."""
    from attention.implementations import IMPLEMENTATIONS

    reasons = [
        f"{IMPLEMENTATIONS[name].title}: {messages.plain(why_not.split('; got ')[0])}"
        for name, why_not in refusals.items()
        if why_not is not None
    ]
    return "  \n".join(["Not for this model on this device:", *reasons])


def _usable_ways(refusals: dict[str, str | None]) -> list[str]:
    """The ways to run the model's heads that are offered; the one asked for is among them."""
    others = [
        name for name, why_not in refusals.items() if why_not is None and name not in MAIN_WAYS
    ]
    asked = state.text("implementation")
    if asked not in (*MAIN_WAYS, *others):
        choices = ", ".join((*MAIN_WAYS, *others))
        known = refusals.get(asked) or f"Heads can be run as {choices} here; got {asked[:60]!r}."
        messages.warn(f"{known} batched is used.")
        state.put("implementation", "batched")
    all_offered = st.session_state.get("offer_all_ways") or asked in others
    return [*MAIN_WAYS, *(others if all_offered else ())]


def _why_not(name: str, source: str, device: str) -> str | None:
    """Why a model's heads cannot be run in that way there, in one sentence; None if they can."""
    from attention.errors import ConfigError
    from attention.implementations import IMPLEMENTATIONS

    entry = IMPLEMENTATIONS[name]
    if name in TOO_SLOW:
        return f"{entry.title} takes seconds for a sentence: it is for Python and the shell."
    config = next(found.config for found in resources.models() if found.source == source)
    if config is not None:
        try:
            entry.require(config.attention, rotary=True, device=device)
        except ConfigError as error:
            return str(error)
    return None


def _ways(offered: list[str]) -> None:
    from attention.implementations import IMPLEMENTATIONS

    entries = [IMPLEMENTATIONS[name] for name in offered]
    st.segmented_control(
        "Heads run as",
        offered,
        format_func=lambda name: IMPLEMENTATIONS[name].title,
        key=state.slot("implementation"),
        on_change=state.take,
        args=("implementation",),
        required=True,
        help="  \n".join(f"{entry.title}: {entry.summary}" for entry in entries),
    )


def colours() -> None:
    """Draw the choice of the colour scale, and of whether the first token is in it."""
    st.segmented_control(
        "Colour",
        ["cividis", "viridis"],
        format_func=str.capitalize,
        key=state.slot("colour"),
        on_change=state.take,
        args=("colour",),
        required=True,
    )
    _switch("hide_first", "Hide first token", "Leaves its weight out; the rest is renormalised.")


def _looks() -> None:
    colours()
    _switch("log", "Log scale", "Colour by the weight's logarithm, down to 0.0001.")
    _switch("to_maximum", "Range up to the largest", "Otherwise colours go from 0 to 1.")


def _switch(key: str, title: str, explained: str) -> None:
    st.toggle(title, key=state.slot(key), on_change=state.take, args=(key,), help=explained)


def _advanced(device: "Device") -> None:
    st.selectbox(
        "Numbers (dtype)",
        device.dtypes,
        key=state.slot("dtype"),
        on_change=state.take,
        args=("dtype",),
        help="What the model computes in, of those that the device does.",
    )
    st.number_input(
        "Threads (0: half the cores)",
        min_value=0,
        max_value=max(os.cpu_count() or 1, state.whole("threads")),
        step=1,
        key=state.slot("threads"),
        on_change=state.take,
        args=("threads",),
        help="Within one operator on the CPU; for everybody who uses this server.",
    )


def _patience() -> None:
    low, high = state.bounds("patience")
    st.number_input(
        "Patience, s",
        min_value=low,
        max_value=high,
        step=60,
        key=state.slot("patience"),
        on_change=state.take,
        args=("patience",),
        help="A benchmark's process that gives no sign of life for so long is ended, and what it "
        "measured is told as failed. More is needed for layers that take minutes.",
    )
