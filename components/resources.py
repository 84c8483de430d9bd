"""What is shared between reruns and sessions: models, tokens and runs, kept in memory.

Every key names all that the result depends on: of a model its device, its dtype and a stamp of
its files. Tokens and runs are kept with their model and go with it.
"""

import threading
from contextlib import nullcontext
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

import streamlit as st

from attention.errors import ModelError
from components.opening import Asked, Progress
from components.shelf import Held, Shelf

if TYPE_CHECKING:
    from attention.devices import Device
    from attention.formation import Formation
    from attention.loading import KnownModel
    from attention.model import LanguageModel
    from attention.progress import Progress as Share
    from attention.record import RunRecord
    from attention.tokens import Tokens
    from components.film import Film
    from components.scanning import Scan


_torch_is_there = threading.Event()
_LOADING = threading.Lock()


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


@st.cache_resource(show_spinner=False)
def shelf() -> Shelf:
    """The models in memory."""
    return Shelf(_load)


def _load(asked: Asked, progress: Progress) -> "LanguageModel":
    from attention.devices import DTYPES, find_device
    from attention.loading import load_model

    find_device(asked.device, asked.dtype)
    # In turns, so that two do not count on the same free memory; a download lets others pass.
    turn = nullcontext() if must_be_fetched(asked.source) else _LOADING
    with turn:
        return load_model(
            asked.source,
            device=asked.device,
            dtype=DTYPES[asked.dtype],
            num_heads=asked.num_heads,
            progress=progress,
        )


class Reader:
    """One tab, as the shelf and the scans know it."""

    def __init__(self) -> None:
        self._scan: Scan | None = None

    def look_at(self, scan: "Scan | None") -> None:
        """Have a run's layers looked at, and no more those of the run before."""
        if self._scan is not None and self._scan is not scan:
            self._scan.leave(self)
        self._scan = scan
        if scan is not None:
            scan.start(self)

    def leave(self) -> None:
        """The tab is closed."""
        self.look_at(None)
        shelf().leave(self)


@st.cache_resource(scope="session", show_spinner=False, on_release=Reader.leave)
def reader() -> Reader:
    """This tab."""
    return Reader()


def asked(source: str, device: str, dtype: str, num_heads: int | None) -> Asked:
    """A model as it is on the disk now."""
    from attention.sources import stamp

    return Asked(source, device, dtype, num_heads, stamp(source))


def must_be_fetched(source: str) -> bool:
    """Whether a model is neither here nor in the hub's cache."""
    from attention.errors import HeadscopeError
    from attention.sources import find_place, hub

    try:
        place = find_place(source)
    except HeadscopeError:
        return False
    return isinstance(place, hub.HubId) and hub.cached(place) is None


def tells_heads(wanted: Asked) -> bool:
    """Whether a checkpoint says how many heads it has; a bare state dict does not."""
    return must_be_fetched(wanted.source) or _tells_heads(wanted.source, wanted.stamp)


@lru_cache(maxsize=64)
def _tells_heads(source: str, stamp: int) -> bool:
    """`stamp` is there for the cache."""
    del stamp
    from attention.assemble import HEAD_COUNTS
    from attention.errors import HeadscopeError
    from attention.sources import open_checkpoint

    try:
        config = open_checkpoint(source).config
    except HeadscopeError:
        return True
    return any(config.get(name) is not None for name in HEAD_COUNTS)


def model(wanted: Asked) -> "LanguageModel":
    """A model that is open.

    Raises:
        ModelError: when it has been unloaded since.
    """
    return _held(wanted).model


def _held(wanted: Asked) -> Held:
    held = shelf().find(wanted)
    if held is None:
        raise ModelError(
            f"{wanted.source} must be in memory for that; it was unloaded. Reload the page."
        )
    return held


def tokens(wanted: Asked, text: str, bos: str = "model") -> "Tokens":
    """A text as the model reads it, however long it is; ids where it has no tokenizer.

    Args:
        wanted: a model that is open.
        text: what is read.
        bos: whether a BOS comes first: "on", "off", or as the "model" expects.

    Raises:
        TextError: when it cannot be read.
        ModelError: when the model has been unloaded since.
    """
    held = _held(wanted)
    return held.tokens((text, bos), lambda: _read(held.model, text, bos))


def _read(opened: "LanguageModel", text: str, bos: str) -> "Tokens":
    from attention.cli.options import parse_ids
    from attention.tokens import Tokens

    if opened.tokenizer is None:
        return Tokens.from_ids(parse_ids(text))
    return opened.tokenizer.encode(text, {"on": True, "off": False}.get(bos))


def record(
    wanted: Asked, read: "Tokens", implementation: str, progress: "Share | None" = None
) -> "RunRecord":
    """Tokens through a model whose heads are really computed by `implementation`.

    Only the first `context_length` of them are run, and of these only what no text before
    began with.

    Args:
        wanted: a model that is open.
        read: the text.
        implementation: how the heads are computed.
        progress: called after each layer; what it raises ends the run, of which nothing is kept.

    Raises:
        TextError: when the tokens cannot be run.
        ModelError: when the model has been unloaded since, or gives no finite numbers.
        DeviceError: when the device has no memory left.
    """
    held = _held(wanted)
    return held.run(read.first(held.model.config.context_length), implementation, progress)[0]


def seconds(wanted: Asked, read: "Tokens", implementation: str) -> float:
    """How long that takes where nothing of it is known: see `record`. Not a measurement."""
    held = _held(wanted)
    return held.run(read.first(held.model.config.context_length), implementation)[1]


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
    from attention.loading import find_models

    return find_models()


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
