"""Where checkpoints come from: the embedded model, folders, single files, GGUF, the hub."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attention.checkpoint import Checkpoint
from attention.errors import ModelError
from attention.sources import hub, pickled
from attention.sources.folder import CONFIG, INDEX, SAFETENSORS, open_file, open_folder
from attention.sources.hub_progress import Progress
from attention.tokenizer_files import find_tokenizer, tokenizer_from_gguf
from attention.tokens import Tokenizer

EMBEDDED = Path(__file__).parents[2] / "assets" / "model"
GGUF = ".gguf"
FILES = (GGUF, SAFETENSORS, *pickled.SUFFIXES)
BESIDE = (".json", ".txt", ".bpe", ".model", ".pkl")  # configs and tokenizers
Before = Callable[[Mapping[str, Any]], None]


def open_checkpoint(
    source: str,
    *,
    weights: str | None = None,
    progress: Progress | None = None,
    before: Before | None = None,
) -> Checkpoint:
    """Find a checkpoint and read its config and headers; its tensors are read when looked up.

    Its tokenizer is left out: `read_tokenizer` reads it.

    Args:
        source: "embedded", a folder, a file, or an id of the Hugging Face hub, which may be
            followed by @ and a revision.
        weights: which file of a folder, where it holds several checkpoints.
        progress: told of bytes fetched and bytes in all, where something is fetched.
        before: gets the config before anything large is fetched; raises to stop.

    Raises:
        ModelError: when there is none, or it cannot be read.
    """
    with _files_as_sentences(source):
        place = find_place(source)
        if isinstance(place, hub.HubId):
            place = hub.fetch(place, progress=progress, before=before)
        return _in_folder(place, source, weights) if place.is_dir() else _of_file(place, source)


@contextmanager
def _files_as_sentences(source: str) -> Iterator[None]:
    """What the system refuses, such as a folder of somebody else, becomes a ModelError."""
    try:
        yield
    except OSError as error:
        raise ModelError(
            f"{source} must be readable; {error.filename or 'it'} is not: {error.strerror}."
        ) from error


def read_tokenizer(checkpoint: Checkpoint) -> Tokenizer | None:
    """The tokenizer of a checkpoint, in its file or beside it; None when there is none.

    Raises:
        ModelError: when there is one that cannot be read, or not surely right.
    """
    path = Path(checkpoint.where)
    if path.suffix != GGUF:
        with _files_as_sentences(str(path.parent)):
            return find_tokenizer(path.parent)
    from attention.sources.gguf.reader import read_gguf

    return tokenizer_from_gguf(read_gguf(path).facts)


def find_place(source: str) -> Path | hub.HubId:
    """Where a source is: a folder or file that is there, or a name of the hub.

    Raises:
        ModelError: when it reads as neither, or the embedded model is not there.
    """
    if source == "embedded":
        if not EMBEDDED.is_dir():
            raise ModelError(
                f"the embedded model must be in {EMBEDDED}; it is not there. "
                f"Make it with `python -m attention train --out {EMBEDDED}`."
            )
        return EMBEDDED
    path = Path(os.path.expanduser(source))  # noqa: PTH111 - Path's own fails without a home
    if _is_there(path):
        return path
    wanted = None if path.suffix in FILES else hub.parse_id(source)
    if wanted is None:
        raise ModelError(
            f"model must be 'embedded', a folder, a file ({', '.join(FILES)}) or a model of the "
            f"Hugging Face hub such as gpt2; got {source[:200]!r}, which is none."
        )
    return wanted


def stamp(source: str) -> int:
    """Changes when the files of a source do; 0 when there are none here. Reads none of them."""
    try:
        found = find_place(source)
        place = hub.cached(found) if isinstance(found, hub.HubId) else found
        if place is None:
            return 0
        seen = [(file.name, file.stat()) for file in _read_from(place) if file.is_file()]
    except (ModelError, OSError):
        return 0
    return hash(tuple((name, facts.st_mtime_ns, facts.st_size) for name, facts in seen))


def _read_from(place: Path) -> list[Path]:
    """What a folder, or a file with the config and tokenizer beside it, may be read from."""
    if place.is_dir():
        return sorted(place.iterdir())
    beside = () if place.suffix == GGUF else place.parent.iterdir()  # a GGUF file holds all
    return [place, *sorted(path for path in beside if path.suffix in BESIDE)]


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # such as a name that is too long, or has a NUL in it
        return False


def _models_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix in FILES)


def _in_folder(folder: Path, name: str, weights: str | None) -> Checkpoint:
    """A folder's checkpoint; without a config.json, the only file in it that can be one."""
    files = _models_in(folder)
    alone = files[0] if len(files) == 1 else None
    if weights is None and alone is not None and alone.suffix == GGUF:
        return _of_file(alone, name)  # some have a config.json beside it
    if (folder / CONFIG).is_file() or weights is not None:
        return open_folder(folder, name, weights=weights)
    if alone is not None:
        return _of_file(alone, name)
    hint = f" Give the path of one of its files, such as {files[0].name}." if files else ""
    raise ModelError(f"{folder} must hold {CONFIG}; it does not.{hint}")


def _of_file(path: Path, name: str) -> Checkpoint:
    if path.suffix == GGUF:
        from attention.sources.gguf import open_gguf  # numpy's part of it takes a moment

        return open_gguf(path, name)
    if path.suffix in FILES:
        return open_file(path, name)
    if path.name == CONFIG:
        return open_folder(path.parent, name)
    if path.name.endswith(INDEX):
        return open_folder(path.parent, name, weights=path.name)
    raise ModelError(f"a file of a model must end in {', '.join(FILES)}; got {path.name!r}.")
