"""What is shared between reruns and sessions: models, tokens and runs, kept in memory.

Every key names all that the result depends on, device and dtype included.
"""

import threading
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from attention.errors import TextError

if TYPE_CHECKING:
    from attention.devices import Device
    from attention.formation import Formation
    from attention.loading import KnownModel
    from attention.model import LanguageModel
    from attention.record import RunRecord
    from attention.tokens import Tokens
    from components.film import Film


_torch_is_there = threading.Event()


@st.cache_resource(show_spinner=False)
def start_imports() -> threading.Thread:
    """Import torch, which takes two seconds, and what needs it, in a thread of their own."""
    thread = threading.Thread(target=_import_all, daemon=True)
    thread.start()
    return thread


def _import_all() -> None:
    for name in ("attention.loading", "attention.scores", "attention.timing"):
        import_module(name)


def imported() -> bool:
    """Whether torch is there; starts nothing."""
    return _torch_is_there.is_set()


def wait_for_imports() -> None:
    """Wait until torch is there."""
    start_imports().join()
    _torch_is_there.set()


def model(source: str, device: str, dtype: str) -> "LanguageModel":
    """A model, loaded once for each device and dtype.

    Raises:
        ModelError: when it cannot be opened.
        DeviceError: when the device cannot be used, lacks the dtype or has no memory left.
    """
    return _model(source, device, dtype, _stamp(source))


@st.cache_resource(show_spinner=False, max_entries=4)
def _model(source: str, device: str, dtype: str, stamp: int) -> "LanguageModel":
    from attention.devices import DTYPES, find_device
    from attention.loading import load_model

    find_device(device, dtype)
    return load_model(source, device=device, dtype=DTYPES[dtype])


def tokens(source: str, device: str, dtype: str, text: str) -> "Tokens":
    """A text as the model reads it, however long it is.

    Raises:
        TextError: when it holds what is no character, or the model has no tokenizer.
    """
    stamp = _stamp(source)
    if any("\ud800" <= char <= "\udfff" for char in text):  # no character: no key of a cache
        return _read(_model(source, device, dtype, stamp), text)
    return _tokens(source, device, dtype, stamp, text)


@st.cache_resource(show_spinner=False, max_entries=64)
def _tokens(source: str, device: str, dtype: str, stamp: int, text: str) -> "Tokens":
    return _read(_model(source, device, dtype, stamp), text)


def _read(opened: "LanguageModel", text: str) -> "Tokens":
    if opened.tokenizer is None:
        raise TextError(f"{opened.name} has no tokenizer, so it cannot read a text.")
    return opened.tokenizer.encode(text)


def record(source: str, device: str, dtype: str, text: str, implementation: str) -> "RunRecord":
    """A text through a model whose heads are really computed by `implementation`.

    Only the first `context_length` tokens of a longer text are run.

    Raises:
        TextError: when the text cannot be read.
        ModelError: when the model cannot be opened or gives no finite numbers.
        DeviceError: when the device cannot be used or has no memory left.
    """
    return _record(source, device, dtype, _stamp(source), text, implementation)


@st.cache_resource(show_spinner=False, max_entries=16)
def _record(
    source: str, device: str, dtype: str, stamp: int, text: str, implementation: str
) -> "RunRecord":
    opened = _model(source, device, dtype, stamp)
    read = _tokens(source, device, dtype, stamp, text)
    return opened.run(read.first(opened.config.context_length), implementation=implementation)


def _stamp(source: str) -> int:
    """When the model's file was last written, so that a new file is opened anew."""
    from attention.loading import EMBEDDED

    folder = EMBEDDED if source == "embedded" else Path(source)
    try:
        return (folder / "model.safetensors").stat().st_mtime_ns
    except OSError:
        return 0


@st.cache_resource(show_spinner=False)
def formation() -> "Formation":
    """The training whose heads are watched while they form.

    Raises:
        ModelError: when its files are missing.
    """
    from attention.formation import load_formation

    return load_formation()


def film(text: str) -> "Film":
    """A text through every checkpoint of that training.

    Raises:
        TextError: when the text cannot be read.
        ModelError: when a checkpoint cannot be used.
    """
    if any("\ud800" <= char <= "\udfff" for char in text):  # no character: no key of a cache
        return _new_film(text)
    return _film(text)


@st.cache_resource(show_spinner=False, max_entries=8)
def _film(text: str) -> "Film":
    return _new_film(text)


def _new_film(text: str) -> "Film":
    from components.film import make_film

    return make_film(formation(), text)


def models() -> "list[KnownModel]":
    """The models found here, those that cannot be opened too."""
    from attention.loading import known_models

    return known_models()


def devices() -> "tuple[Device, ...]":
    """CPU, CUDA, MPS; those that cannot be used here carry the reason."""
    from attention.devices import available_devices

    return tuple(available_devices())


def use_threads(wanted: int) -> int:
    """Set torch's threads within an operator, for the whole process; 0 is half the cores.

    Returns the number now in use.
    """
    import torch

    from attention.benchmark.settings import default_threads

    threads = wanted or default_threads()
    if threads != torch.get_num_threads():
        torch.set_num_threads(threads)
    return threads


@st.cache_resource(show_spinner=False)
def timing_turn() -> threading.Lock:
    """Held while something is timed, so that no two sessions measure each other."""
    return threading.Lock()
