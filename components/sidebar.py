"""The controls beside the pictures: model, device, how the heads are run, how they look."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from components import messages, model_choice, model_picker, resources, state
from components.looks import Look
from components.opening import Asked

if TYPE_CHECKING:
    from attention.devices import Device

MAIN_WAYS = ("looped", "batched", "sdpa")  # the rest is under Advanced
TOO_SLOW = ("reference",)  # a plain loop over positions: seconds for a sentence


@dataclass(frozen=True)
class Run:
    """What a text is run with.

    Attributes:
        model: which model, where and in what dtype; it is open.
        implementation: a key of IMPLEMENTATIONS.
    """

    model: Asked
    implementation: str

    @property
    def device(self) -> str:
        """Where it runs."""
        return self.model.device

    @property
    def dtype(self) -> str:
        """A key of DTYPES."""
        return self.model.dtype


def controls(*, pictures: bool = True) -> Run:
    """Draw the sidebar's controls; what they ask for is seen to be possible here.

    Where no model is open yet, the page waits for it here, and runs again.

    Args:
        pictures: whether the page shows heads: how they are run and coloured.
    """
    _usable_device()
    shown = model_choice.settle()
    device = _usable_device()  # a model that was refused has taken its device with it
    refusals = {} if shown is None else _refusals(shown)
    ways = [*MAIN_WAYS] if shown is None else _usable_ways(refusals)
    with st.sidebar:
        model_picker.draw(shown)
        _devices()
        if pictures:
            _ways(ways)
            _looks()
        with st.expander("Advanced"):
            _advanced(device)
            if pictures:
                _bos(shown)
                st.checkbox(
                    "Offer every way to run heads", key="offer_all_ways", help=_left_out(refusals)
                )
            else:
                _patience()
    if shown is None:
        model_choice.wait(st.empty())
        st.stop()
    return Run(shown, state.text("implementation"))


def look() -> Look:
    """How weights are shown."""
    return Look(
        scale=state.text("colour"),
        log=state.on("log"),
        hide_first=state.on("hide_first"),
        to_maximum=state.on("to_maximum"),
    )


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


def _devices() -> None:
    devices = {device.name: device for device in resources.devices()}

    def title(name: str) -> str:
        device = devices[name]
        return device.title if device.available else f"{device.title}: not here, {device.why_not}"

    st.selectbox(
        "Device",
        list(devices),
        format_func=title,
        index=list(devices).index(state.text("device")),
        key=state.slot("device"),
        on_change=state.take,
        args=("device",),
        help="Where the model runs. A device that is not available is listed with the reason.",
    )


def _refusals(shown: Asked) -> dict[str, str | None]:
    """Of every way to run heads why it is not for this model there, None for one that is."""
    from attention.implementations import IMPLEMENTATIONS

    return {name: _why_not(name, shown) for name in IMPLEMENTATIONS}


def _left_out(refusals: dict[str, str | None]) -> str:
    """Which ways are not offered and why, as Markdown."""
    from attention.implementations import IMPLEMENTATIONS

    reasons = []
    for name, why_not in refusals.items():
        if why_not is not None:
            title, reason = IMPLEMENTATIONS[name].title, why_not.split("; got ")[0]
            named = reason if reason.startswith(title) else f"{title}: {reason}"
            reasons.append(messages.plain(named))
    return "  \n".join(["Not for this model on this device:", *reasons])


def _usable_ways(refusals: dict[str, str | None]) -> list[str]:
    """The ways to run the model's heads that are offered; the one asked for is among them."""
    usable = [name for name, why_not in refusals.items() if why_not is None]
    main = [name for name in MAIN_WAYS if name in usable]
    others = [name for name in usable if name not in main]
    asked = state.text("implementation")
    if asked not in usable:
        if asked != state.ENTRIES["implementation"].default:  # which nobody asked for
            choices = ", ".join((*main, *others))
            known = (
                refusals.get(asked) or f"Heads can be run as {choices} here; got {asked[:60]!r}."
            )
            messages.warn(f"{known} batched is used.")
        state.put("implementation", "batched")
    all_offered = st.session_state.get("offer_all_ways") or asked in others
    return [*main, *(others if all_offered else ())]


def _why_not(name: str, shown: Asked) -> str | None:
    """Why a model's heads cannot be run in that way there, in one sentence; None if they can."""
    from attention.errors import ConfigError
    from attention.implementations import IMPLEMENTATIONS

    if name in TOO_SLOW:
        title = IMPLEMENTATIONS[name].title
        return f"{title} takes seconds for a sentence: it is for Python and the shell."
    try:
        resources.model(shown).require(name)
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
        default=state.text("implementation"),
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
        default=state.text("colour"),
        key=state.slot("colour"),
        on_change=state.take,
        args=("colour",),
        required=True,
    )
    _switch("hide_first", "Hide first token", "Leaves its weight out; the rest is renormalised.")


def _looks() -> None:
    colours()
    _switch(
        "all_heads", "All layers", "The heads of every layer, in the place of the chosen one's."
    )
    _switch("log", "Log scale", "Colour by the weight's logarithm, down to 0.0001.")
    _switch("to_maximum", "Range up to the largest", "Otherwise colours go from 0 to 1.")


def _switch(key: str, title: str, explained: str) -> None:
    st.toggle(
        title,
        state.on(key),
        key=state.slot(key),
        on_change=state.take,
        args=(key,),
        help=explained,
    )


def _advanced(device: "Device") -> None:
    st.selectbox(
        "Numbers (dtype)",
        device.dtypes,
        index=device.dtypes.index(state.text("dtype")),
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
        value=state.whole("threads"),
        key=state.slot("threads"),
        on_change=state.take,
        args=("threads",),
        help="Within one operator on the CPU; for everybody who uses this server.",
    )


def _bos(shown: Asked | None) -> None:
    """Whether a BOS token comes first, where the model's tokenizer has one."""
    tokenizer = None if shown is None else resources.model(shown).tokenizer
    bos_id = None if tokenizer is None else tokenizer.bos_id
    if tokenizer is None or bos_id is None:
        why = "The model has no tokenizer." if tokenizer is None else "The tokenizer has no BOS."
        st.segmented_control(
            "BOS token first", ["Off"], key="no_bos", default="Off", disabled=True, help=why
        )
        return
    expected = "with" if tokenizer.adds_bos else "without"
    st.segmented_control(
        "BOS token first",
        ["model", "on", "off"],
        format_func={"model": "As trained", "on": "On", "off": "Off"}.__getitem__,
        default=state.text("bos"),
        key=state.slot("bos"),
        on_change=state.take,
        args=("bos",),
        required=True,
        help=messages.plain(
            f"The token {tokenizer.label(bos_id)}, which begins a text. This model expects texts "
            f"{expected} it."
        ),
    )


def _patience() -> None:
    low, high = state.bounds("patience")
    st.number_input(
        "Patience, s",
        min_value=low,
        max_value=high,
        step=60,
        value=state.whole("patience"),
        key=state.slot("patience"),
        on_change=state.take,
        args=("patience",),
        help="A benchmark's process that gives no sign of life for so long is ended, and what it "
        "measured is told as failed. More is needed for layers that take minutes.",
    )
