"""nanoGPT's meta.pkl: one token a character."""

import io
import pickle
from pathlib import Path
from typing import Any, NoReturn

import tokenizers
from tokenizers import Regex, decoders, models, pre_tokenizers

from attention.errors import ModelError
from attention.tokens import Tokenizer

LARGEST = 16 * 2**20  # bytes; every character of Unicode takes less


class _PlainUnpickler(pickle.Unpickler):
    """Reads what pickle makes without any class: dicts, texts, numbers. Runs nothing."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"it asks for {module}.{name}")

    def persistent_load(self, pid: object) -> NoReturn:
        raise pickle.UnpicklingError(f"it asks for the object {pid!r}")


def read_characters(path: Path) -> Tokenizer:
    """A tokenizer from the `stoi` of nanoGPT's meta.pkl (character to id).

    Leaves out whatever else is in the file. A pickle may hold code: this one may not.

    Raises:
        ModelError: when the file holds anything but plain dicts, texts and numbers, or its
            `stoi` is no numbering of single characters from 0 on.
    """
    if path.stat().st_size > LARGEST:
        raise ModelError(f"{path} must be a short list of characters; it has too many bytes.")
    try:
        meta: Any = _PlainUnpickler(io.BytesIO(path.read_bytes())).load()
        stoi = meta["stoi"]
        ids = sorted(stoi.values())
        right = ids == list(range(len(ids))) and all(len(char) == 1 for char in stoi)
        right = right and all(isinstance(char, str) for char in stoi)
    except Exception as error:  # a broken pickle may raise anything
        raise ModelError(
            f"{path} must be nanoGPT's meta.pkl: a plain dict with stoi, character to id; it "
            f"cannot be read: {error}."
        ) from error
    if not right or not ids:
        raise ModelError(f"stoi in {path} must number single characters from 0 on; it does not.")
    backend = tokenizers.Tokenizer(models.WordLevel(dict(stoi), unk_token=""))
    backend.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    backend.decoder = decoders.Fuse()
    return Tokenizer(backend)
