"""Which model is shown: the one asked for once it is open, until then the one before."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from components import messages, resources, state
from components.opening import Asked, Opening

if TYPE_CHECKING:
    from attention.model_config import ModelConfig

PATIENCE_S = 0.4  # a model that is open by then is shown without more ado
STEP_S = 0.1
KEYS = ("model", "device", "dtype", "model_heads")
CHOSEN = "models_chosen"  # here, as opposed to named by a link
SHOWN, LAST = "model_shown", "model_shown_last"
NEW, REFUSED = "model_chosen_now", "model_refused"
HEADLESS = "model_without_heads"  # was refused because nothing says how many heads it has


def settle() -> Asked | None:
    """The model to show now; None while the first is still being opened.

    One that cannot be opened gets its sentence, and what was open stays.

    Raises:
        ModelError: when not even the embedded model can be opened.
        DeviceError: likewise.
    """
    st.session_state[NEW] = False
    state.hold({})
    wanted = _wanted()
    shown: Asked | None = st.session_state.get(SHOWN)
    if shown is not None and resources.shelf().find(shown) is None:
        st.session_state[SHOWN] = None
        if shown == wanted and resources.shelf().was_unloaded(shown):
            messages.note(
                f"{short(shown.source)} was unloaded in another tab. The embedded model is shown; "
                "choose the other again to open it."
            )
            return _instead(None)
        shown = None
    if resources.shelf().find(wanted) is None:
        refused = _refusal(wanted)
        opening = None if refused else resources.shelf().open(wanted, resources.reader())
        if opening is not None and not opening.wait(PATIENCE_S):
            state.hold({} if shown is None else _values(shown))
            return shown
        if opening is None or opening.model is None:
            return _refused(opening, refused, shown)
        resources.shelf().take(opening, resources.reader())
    _show(wanted)
    return wanted


def being_opened() -> Opening | None:
    """The model that is being opened for this tab."""
    return resources.shelf().opening_of(resources.reader())


def _wanted() -> Asked:
    heads = state.whole("model_heads") or None
    return resources.asked(state.text("model"), state.text("device"), state.text("dtype"), heads)


def _refusal(wanted: Asked) -> str | None:
    """Why a model is not even tried: a link alone must not make this machine fetch something."""
    chosen = st.session_state.setdefault(CHOSEN, set())
    if wanted.source in chosen or not resources.must_be_fetched(wanted.source):
        return None
    return (
        f"{wanted.source} is not on this machine, and a link alone fetches nothing. To fetch it "
        "from the Hugging Face hub, press Open under Model."
    )


def _refused(opening: Opening | None, sentence: str | None, shown: Asked | None) -> Asked | None:
    """Say why a model is not opened, and go back to what is shown, or to the embedded one."""
    if opening is not None:
        resources.shelf().finish(opening, resources.reader())
        sentence = opening.error
        asked = opening.asked
        st.session_state[HEADLESS] = None if resources.tells_heads(asked) else asked.source
        if shown is None and opening.asked.source == "embedded":
            from attention.errors import ModelError

            raise ModelError(sentence)
    embedded = shown is None or shown.source == "embedded"
    name = "The embedded model" if embedded or shown is None else short(shown.source)
    if sentence is not None:
        messages.warn(f"{sentence} {name} {'is shown' if shown is None else 'stays open'}.")
    st.session_state[REFUSED] = state.text("model")
    return _instead(shown)


def _instead(shown: Asked | None) -> Asked | None:
    _ask_for(shown)
    return settle() if shown is None else shown


def _ask_for(shown: Asked | None) -> None:
    """Ask for what is shown again, or for the embedded model."""
    embedded: Mapping[str, state.Value] = {"model": "embedded", "model_heads": 0}
    for key, value in (embedded if shown is None else _values(shown)).items():
        state.put(key, value)


def _values(asked: Asked) -> Mapping[str, state.Value]:
    """What the state holds of a model."""
    heads = asked.num_heads or 0
    return dict(zip(KEYS, (asked.source, asked.device, asked.dtype, heads), strict=True))


def _show(wanted: Asked) -> None:
    resources.shelf().look_at(wanted, resources.reader())
    last = st.session_state.get(LAST)
    st.session_state[SHOWN], st.session_state[LAST] = wanted, wanted
    st.session_state[HEADLESS] = None
    if last is not None and last != wanted:
        st.session_state[REFUSED] = ""
    if last is not None and (last.source, last.num_heads) != (wanted.source, wanted.num_heads):
        _fit(resources.model(wanted).config)


def _fit(config: "ModelConfig") -> None:
    """Put the choice of layer and head into the new model's range."""
    for key, count in (("layer", config.num_layers), ("head", config.num_heads)):
        state.put(key, min(state.whole(key), count - 1))
    state.put("timed_heads", 0)


def takes_ids() -> bool:
    """Whether the model that is shown has no tokenizer, and reads token ids."""
    shown: Asked | None = st.session_state.get(SHOWN)
    held = None if shown is None else resources.shelf().find(shown)
    return held is not None and held.model.tokenizer is None


def headless() -> str | None:
    """The model that was refused because nothing says how many heads it has."""
    source: str | None = st.session_state.get(HEADLESS)
    return source


def refused() -> str:
    """The model that was refused last, to be put right or tried again; empty without."""
    return str(st.session_state.get(REFUSED, ""))


def choose(source: str, num_heads: int = 0) -> None:
    """Ask for a model; in a callback. The page goes on with the present one until it is open.

    Args:
        source: which.
        num_heads: heads in each layer, where the checkpoint does not say; 0 where it does.
    """
    st.session_state.setdefault(CHOSEN, set()).add(source)
    st.session_state[NEW] = True
    state.put("model", source)
    state.put("model_heads", num_heads)


def is_new() -> bool:
    """Whether something else was chosen since the page last ran as a whole."""
    return bool(st.session_state.get(NEW))


def stop() -> None:
    """Have no other model opened; in a callback."""
    resources.shelf().stop(resources.reader())
    _ask_for(st.session_state.get(SHOWN))


def unload() -> None:
    """Drop the model that is shown from memory and show the embedded one; in a callback."""
    shown: Asked | None = st.session_state.pop(SHOWN, None)
    if shown is not None:
        resources.shelf().unload(shown)
    choose("embedded")


def wait(place: DeltaGenerator) -> None:
    """Show how far the first model is until it is open, then run the page again."""
    opening = being_opened()
    if opening is not None:
        with place.container(key="first_model"):
            bar = st.empty()
            st.button("Stop", key="stop_first", on_click=stop)
        while not opening.wait(STEP_S):
            progress(opening, bar)  # also lets Streamlit stop here for a click
    messages.rerun()


def short(source: str) -> str:
    """What to call a model: of a path its last part, of a file without its ending."""
    from attention.sources import FILES

    path = Path(source)
    if path.suffix in FILES:
        return path.stem
    return path.name if path.is_dir() and path.name else source


def progress(opening: Opening, place: DeltaGenerator) -> None:
    """Draw how far an opening is."""
    from attention.memory import as_text

    title = messages.plain(short(opening.asked.source))
    done, total = opening.done, opening.total
    if total:
        place.progress(
            min(1.0, done / total), f"Opening {title}: {as_text(done)} of {as_text(total)}"
        )
    else:
        place.progress(0.0, f"Opening {title} …")
