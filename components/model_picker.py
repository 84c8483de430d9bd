"""The choice of a model: those found here, or any by its path or its name on the hub."""

from typing import TYPE_CHECKING

import streamlit as st

from components import messages, model_choice, resources, state
from components.mounting import mount
from components.opening import Asked

if TYPE_CHECKING:
    from attention.loading import KnownModel
    from attention.model_config import ModelConfig

POPOVER, TYPED, HEADS = "model_popover", "model_typed", "model_heads_typed"
FOCUS = {"from": f".st-key-{POPOVER}", "to": ".st-key-model_list button:enabled"}
POLL_S = 0.4
# The next model is being opened: the pictures of this one stay, dimmed.
DIMMED = ".st-key-pictures, .st-key-timing > * { opacity: 0.6; }"
LONGEST_NAME = 1000  # characters
MARKS = {True: ":material/radio_button_checked:", False: ":material/radio_button_unchecked:"}


def draw(shown: Asked | None) -> None:
    """Draw the button with the model's name, what it opens, and how far an opening is.

    Args:
        shown: the model that is open; None before there is one.
    """
    with st.container(key="model_picker", gap=None):
        _button(shown)
        if shown is not None:
            st.caption(messages.plain(sizes(resources.model(shown).config)))
        _heads(shown)
    if shown is not None and model_choice.being_opened() is not None:
        _opening()


def _heads(shown: Asked | None) -> None:
    """Ask how many heads there are, where the checkpoint does not say."""
    source = model_choice.headless()
    if source is not None:
        _number_of_heads(source, None, f"Heads in each layer of {model_choice.short(source)}?")
    elif shown is not None and not resources.tells_heads(shown):
        config = resources.model(shown).config
        _number_of_heads(shown.source, config.num_heads, "Heads in each layer")
        why = "" if shown.num_heads else f", as a GPT-2 of width {config.d_model} has"
        st.caption(
            f"The file doesn't say how many: {config.num_heads} are taken{why}. With another "
            "number the same weights are cut into other heads."
        )


def _number_of_heads(source: str, value: int | None, label: str) -> None:
    def take() -> None:
        wanted = state.chosen(HEADS)
        if wanted:
            model_choice.choose(source, wanted)

    st.number_input(
        messages.plain(label),
        min_value=1,
        max_value=state.bounds("model_heads")[1],
        step=1,
        value=value,
        key=state.showing(HEADS, value),
        on_change=take,
        placeholder="such as 12",
    )


@st.fragment
def _button(shown: Asked | None) -> None:
    """The button; what is behind it is looked up when it is opened, without the pictures."""
    if model_choice.is_new():
        st.rerun()
    st.markdown(":small[Model]", width="content")
    name = model_choice.short(state.text("model") if shown is None else shown.source)
    behind = st.popover(
        messages.plain(name), key=POPOVER, on_change="rerun", width="stretch", wrap=False
    )
    if behind.open:
        with behind, messages.errors_as_sentences():
            mount("focus", "model_focus", FOCUS)
            _found(shown)
            _another()
            _memory(shown)


def sizes(config: "ModelConfig") -> str:
    """Layers, heads and kv heads of a model, and how many numbers it learned."""
    from attention.sizes import num_parameters

    attention = config.attention
    shared = attention.num_kv_heads != attention.num_heads
    kv = f", {attention.num_kv_heads} kv" if shared else ""
    heads = f"{config.num_layers} layers × {attention.num_heads} heads{kv}"
    return f"{heads} · {count(num_parameters(config))}"


def count(parameters: int) -> str:
    """How many numbers a model learned: 4.82M, 135M, 1.24B."""
    for unit, size in (("B", 1e9), ("M", 1e6), ("k", 1e3)):
        if parameters >= 0.9995 * size:
            value = parameters / size
            digits = max(0, 3 - len(str(int(value))))
            return f"{value:.{digits}f}{unit}"
    return str(parameters)


def details(found: "KnownModel", dtype: str, free: int | None = None) -> str:
    """What a person should know of a model before opening it, in one line.

    Args:
        found: the model.
        dtype: what it would be opened in, a key of DTYPES.
        free: memory that is left, bytes; None where nobody knows.
    """
    from attention.devices import DTYPES
    from attention.memory import as_text

    if found.config is None:
        return f"Cannot be opened: {found.problem}"
    stored = f"{found.dtype}, {as_text(found.num_bytes)} on disk"
    needed = found.memory_needed(DTYPES[dtype])
    needs = "" if needed is None else f" · needs {as_text(needed)} in {dtype}"
    if needed is not None and free is not None and needed > free:
        needs += ", more than is free"
    return f"{sizes(found.config)} parameters · {stored}{needs}"


def _found(shown: Asked | None) -> None:
    """A button for each model: the arrow keys of a radio would open every one they pass."""
    from attention.memory import free_memory

    known = {found.source: found for found in resources.models()}
    dtype, free = state.text("dtype"), free_memory(state.text("device"))
    st.markdown("Models found here")
    with st.container(key="model_list", gap=None):
        for place, (source, found) in enumerate(known.items()):
            is_shown = shown is not None and source == shown.source
            st.button(
                messages.plain(found.title),
                key=f"model_found_{place}",
                type="tertiary",
                icon=MARKS[is_shown],
                disabled=found.config is None and not is_shown,
                on_click=_choose,
                args=(source,),
            )
            st.caption(messages.plain(details(found, dtype, free)))
        if shown is not None and shown.source not in known:
            name = messages.plain(shown.source)
            st.button(name, key="model_by_path", type="tertiary", icon=MARKS[True])
            st.caption(messages.plain(sizes(resources.model(shown).config)))


def _choose(source: str) -> None:
    model_choice.choose(source)
    st.session_state[POPOVER] = False  # the picture is behind it


def _another() -> None:
    if TYPED not in st.session_state:  # the list has just been opened
        st.session_state[TYPED] = model_choice.refused()[:LONGEST_NAME]
    with st.container(key="model_another", horizontal=True, vertical_alignment="bottom"):
        st.text_input(
            "Another: a folder, a file, or a name on the Hugging Face hub",
            key=TYPED,
            placeholder="path/to/model.safetensors, or owner/name",
            max_chars=LONGEST_NAME,
            on_change=_choose_typed,
        )
        st.button("Open", key="open_typed", on_click=_choose_typed)


def _choose_typed() -> None:
    source = st.session_state[TYPED].strip()
    if source:
        _choose(source)


def _memory(shown: Asked | None) -> None:
    """What is free, and the way to free more."""
    from attention.memory import as_text, free_memory

    device = next(found for found in resources.devices() if found.name == state.text("device"))
    free = free_memory(device.name)
    with st.container(key="model_memory", horizontal=True, vertical_alignment="center"):
        if free is not None:
            st.caption(f"{as_text(free)} of memory free on {device.title}", width="content")
        if shown is None or shown.source == "embedded":
            return
        others = resources.shelf().others(shown, resources.reader())
        tabs = f"{others} other tab{'s' if others != 1 else ''}"
        st.button(
            f"Unload {messages.plain(model_choice.short(shown.source))}",
            key="unload",
            on_click=_unload,
            help="Frees its memory and opens the embedded model."
            + (f" {tabs} with it will show the embedded model too." if others else ""),
        )


def _unload() -> None:
    model_choice.unload()
    st.session_state[POPOVER] = False


@st.fragment(run_every=POLL_S)
def _opening() -> None:
    """How far the next model is, while the present one stays."""
    opening = model_choice.being_opened()
    if opening is None or not opening.running:
        messages.rerun()
        return
    with st.container(key="model_opening", gap="xsmall"):
        st.html(f"<style>{DIMMED}</style>")
        model_choice.progress(opening, st.empty())
        st.button("Stop", key="stop_opening", on_click=model_choice.stop)
