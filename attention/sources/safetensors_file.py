"""Safetensors files: one, or shards under an index. Mapped into memory, nothing read before."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from attention.errors import ModelError, shown
from attention.sources.stored import StoredTensor

DTYPES = {  # its names: torch's names
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "C64": "complex64",
    "U64": "uint64",
    "U32": "uint32",
    "U16": "uint16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U8": "uint8",
    "BOOL": "bool",
}
WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".ckpt")  # what a shard may end in
LONGEST = 255  # bytes, and so characters, that the name of a file may have
POINTER = b"version https://git-lfs"  # how git-lfs begins what it puts in a file's place


def read_safetensors(path: Path) -> dict[str, StoredTensor]:
    """The tensors of one file, by name.

    Raises:
        ModelError: when it is missing, cut short or no such file.
    """
    require_file(path)
    try:
        opened: Any = safe_open(path, framework="pt")
        names = list(opened.keys())
        return {name: _entry(opened, name, path) for name in names}
    except ModelError:
        raise
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelError(
            f"{path} must be a whole safetensors file; it cannot be read: {error}. "
            "Fetch or save it again."
        ) from error


def _entry(opened: Any, name: str, path: Path) -> StoredTensor:  # noqa: ANN401 - without types
    part = opened.get_slice(name)
    shape, kind = tuple(part.get_shape()), DTYPES.get(part.get_dtype())
    if kind is None or not hasattr(torch, kind):
        raise ModelError(
            f"{name} in {path} must be in a dtype such as F32, F16 or BF16; got {part.get_dtype()}."
        )
    size = getattr(torch, kind).itemsize
    return StoredTensor(shape, kind, math.prod(shape) * size, lambda: opened.get_tensor(name))


def read_index(path: Path) -> list[Path]:
    """The shards that an index names, in order, each once.

    Raises:
        ModelError: when it is no index, or a shard is missing.
    """
    index = read_json(path)
    places = index.get("weight_map")
    if not isinstance(places, Mapping) or not places:
        raise ModelError(f"{path} must name a file for each weight under weight_map; it does not.")
    files = sorted({str(file) for file in places.values()})
    for file in files:
        if Path(file).name != file or Path(file).suffix not in WEIGHTS or len(file) > LONGEST:
            raise ModelError(
                f"{path} must name files of weights in its own folder ({', '.join(WEIGHTS)}); "
                f"got {shown(file)}."
            )
        if not (path.parent / file).is_file():
            raise ModelError(
                f"{path.parent} must hold {file}, which {path.name} names; it does not. "
                f"{_missing(path.parent, files)}"
            )
    return [path.parent / file for file in files]


def _missing(folder: Path, files: list[str]) -> str:
    count = sum(not (folder / file).is_file() for file in files)
    return f"{count} of its {len(files)} shards {'is' if count == 1 else 'are'} missing."


def check_index(path: Path, names: Mapping[str, object]) -> None:
    """Refuse shards that lack what the index says they hold.

    Raises:
        ModelError: names the first such weight and its shard.
    """
    places = read_json(path)["weight_map"]
    lost = [name for name in places if name not in names]
    if lost:
        raise ModelError(
            f"{places[lost[0]]} must hold {lost[0]}, as {path.name} says; it does not "
            f"({len(lost)} such weights)."
        )


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object.

    Raises:
        ModelError: when it is missing or no JSON object.
    """
    require_file(path)
    try:
        parsed: Any = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError, OSError) as error:  # no JSON, no UTF-8, no access
        raise ModelError(f"{path} must be JSON; it cannot be read: {error}.") from error
    if not isinstance(parsed, dict):
        raise ModelError(f"{path} must hold a JSON object; it holds {type(parsed).__name__}.")
    return parsed


def require_file(path: Path) -> None:
    """Refuse a path at which there is no file, or only what git-lfs puts in the place of one.

    Raises:
        ModelError: names the folder and the file; or says why it cannot be read.
    """
    if not path.is_file():
        raise ModelError(f"{path.parent} must hold {path.name}; it does not.")
    try:
        with path.open("rb") as file:
            begin = file.read(len(POINTER))
    except OSError as error:
        raise ModelError(f"{path} must be readable; it is not: {error.strerror}.") from error
    if begin == POINTER:
        raise ModelError(
            f"{path} must be the file itself; it is a pointer to it, of git-lfs. Run `git lfs "
            "pull` in its folder."
        )
