"""A folder in the Hugging Face form, or one file that belongs to such a folder."""

from pathlib import Path

from attention.checkpoint import Checkpoint
from attention.errors import ModelError
from attention.sources import pickled, safetensors_file
from attention.sources.recognised import recognise
from attention.sources.safetensors_file import check_index, read_index, read_json
from attention.sources.stored import StoredTensor, StoredTensors, plain_names

CONFIG = "config.json"
INDEX = ".index.json"
WEIGHTS = ("model.safetensors", "pytorch_model.bin")  # each also as shards, under an index
SAFETENSORS = ".safetensors"
NAMED = 3  # so many files in an error; the rest is counted


def open_folder(folder: Path, name: str, *, weights: str | None = None) -> Checkpoint:
    """Read config and headers of a folder.

    Args:
        folder: holds config.json and the weights; mostly the tokenizer too.
        name: what a person calls it.
        weights: which file holds the weights; None for the usual one.

    Raises:
        ModelError: when something is missing or cannot be read.
    """
    config = read_json(folder / CONFIG)
    path = find_weights(folder) if weights is None else folder / weights
    return Checkpoint(name, config, _tensors(path), None, str(path))


def open_file(path: Path, name: str) -> Checkpoint:
    """Read the headers of one file of weights, with the config.json beside it if there is one.

    Raises:
        ModelError: when it cannot be read, or no family knows it and there is no config.json.
    """
    if (path.parent / CONFIG).is_file():
        return open_folder(path.parent, name, weights=path.name)
    if path.suffix == SAFETENSORS:
        return recognise(_tensors(path), path, name)
    return recognise(pickled.read_pickle(path), path, name)


def find_weights(folder: Path) -> Path:
    """The file of a folder's weights, or the index of its shards.

    Raises:
        ModelError: when there is none, or there are several and none has the usual name.
    """
    for usual in WEIGHTS:
        for path in (folder / usual, folder / f"{usual}{INDEX}"):
            if path.is_file():
                return path
    suffixes = (SAFETENSORS, *pickled.SUFFIXES)
    found = sorted(path for path in folder.iterdir() if path.suffix in suffixes and path.is_file())
    if len(found) > 1:
        more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
        raise ModelError(
            f"{folder} must hold one file of weights, or {WEIGHTS[0]}; it holds "
            f"{', '.join(path.name for path in found[:NAMED])}{more}. Give the path of one of them."
        )
    if not found:
        raise ModelError(f"{folder} must hold {WEIGHTS[0]}; it does not.")
    return found[0]


def _tensors(path: Path) -> StoredTensors:
    if path.name.endswith(INDEX):
        entries: dict[str, StoredTensor] = {}
        for shard in read_index(path):
            entries.update(_tensors(shard).entries)
        check_index(path, entries)
        return StoredTensors(plain_names(entries, str(path)))
    if path.suffix == SAFETENSORS:
        return StoredTensors(plain_names(safetensors_file.read_safetensors(path), str(path)))
    return pickled.tensors_of(pickled.read_pickle(path), path)


def stored_files(path: Path) -> list[Path]:
    """The files that a file of weights, or an index, stands for."""
    return read_index(path) if path.name.endswith(INDEX) else [path]
