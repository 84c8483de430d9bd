"""Files of `torch.save`: read as tensors and plain values; nothing in them is run."""

import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from torch import Tensor

from attention.errors import ModelError
from attention.sources.safetensors_file import require_file
from attention.sources.stored import StoredTensors, plain_names

SUFFIXES = (".pt", ".pth", ".bin", ".ckpt")
INSIDE = ("state_dict", "model_state_dict", "model")  # where trainers put the tensors
ZIP = b"PK\x03\x04"
ASKED = re.compile(r"(?:Unsupported (?:global|class)|unsupported GLOBAL)[:\s]*(?:GLOBAL )?([\w.]+)")


def read_pickle(path: Path) -> Mapping[str, Any]:
    """What a file of `torch.save` holds; its tensors stay in the file until they are used.

    Raises:
        ModelError: when it is cut short, no such file, or would have to run code to be opened.
    """
    require_file(path)
    try:
        mapped = _is_zip(path)
        if mapped:
            _check_archive(path)
        found: Any = torch.load(path, map_location="cpu", weights_only=True, mmap=mapped or None)
    except ModelError:
        raise
    except UnpicklingError as error:
        raise ModelError(_code(path, str(error))) from error
    except (RuntimeError, OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as error:
        said = "it is none" if isinstance(error, KeyError) else str(error)
        said = said.split(". ")[0].split("\n")[0] or "it is empty"
        raise ModelError(
            f"{path} must be a whole file of torch.save; it cannot be read: {said}. "
            "Fetch or save it again."
        ) from error
    if not isinstance(found, Mapping):
        raise ModelError(
            f"{path} must hold tensors by name; it holds {type(found).__name__}. "
            "Save model.state_dict()."
        )
    return _plain(found, str(path))


def _is_zip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(ZIP)) == ZIP


def _check_archive(path: Path) -> None:
    """Refuse an archive of another kind: its numbers would be read as something else."""
    with zipfile.ZipFile(path) as archive:
        parts = archive.infolist()
    if any(part.filename.endswith("/constants.pkl") for part in parts):
        raise ModelError(
            f"{path} must hold tensors by name; it is a TorchScript archive, which holds "
            "code. Save model.state_dict()."
        )
    if any(part.compress_type != zipfile.ZIP_STORED for part in parts):
        raise ModelError(
            f"{path} must be as torch.save wrote it; it was packed again, and its tensors are "
            "compressed. Unpack it, or save it again."
        )


def _code(path: Path, said: str) -> str:
    asked = ASKED.search(said)
    what = f"asks for {asked.group(1)}" if asked else "holds something else"
    return (
        f"{path} must hold tensors and plain values only; it {what}, which could run code, so "
        "nothing in it was opened. Save model.state_dict() alone."
    )


def _plain(found: Mapping[Any, Any], where: str) -> dict[str, Any]:
    """The object with every dict of tensors in it, at the top or one below, under plain names."""
    outer = {str(key): value for key, value in found.items()}
    _require_dense(outer, where)
    for key, value in outer.items():
        if isinstance(value, Mapping) and _has_tensors(value):
            named = {str(name): tensor for name, tensor in value.items()}
            _require_dense(named, where)
            outer[key] = plain_names(named, where)
    return plain_names(outer, where) if _has_tensors(outer) else outer


def _require_dense(found: Mapping[str, Any], where: str) -> None:
    """Refuse a tensor whose numbers are not all there one after another."""
    for name, value in found.items():
        if isinstance(value, Tensor) and (
            value.layout != torch.strided or value.is_nested or value.is_meta
        ):
            raise ModelError(
                f"{name} in {where} must be a plain tensor; it is a sparse or nested one, or one "
                "without numbers. Save it with `.to_dense()`."
            )


def _has_tensors(found: Mapping[Any, Any]) -> bool:
    return any(isinstance(value, Tensor) for value in found.values())


def tensors_of(found: Mapping[str, Any], path: Path) -> StoredTensors:
    """The tensors of a saved object whose config is known from elsewhere.

    Raises:
        ModelError: when there are none, or something among them is none.
    """
    inner = [found[key] for key in INSIDE if isinstance(found.get(key), Mapping)]
    # Those inside first: nanoGPT keeps its best loss beside them, as a tensor too.
    holder = next((held for held in [*inner, found] if _has_tensors(held)), None)
    if holder is None:
        raise ModelError(f"{path} must hold tensors by name; it holds none.")
    for name, value in holder.items():
        if not isinstance(value, Tensor):
            raise ModelError(
                f"{name} in {path} must be a tensor; got {type(value).__name__}. "
                "Save model.state_dict() alone."
            )
    return StoredTensors.of({name: value.detach() for name, value in holder.items()})
