"""GGUF files: what their header says, and their tensors multiplied out when they are looked up."""

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, SupportsInt

import numpy as np
import torch
from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, ReaderTensor
from gguf.constants import GGML_QUANT_SIZES
from gguf.quants import dequantize
from torch import Tensor

from attention.errors import ModelError
from attention.sources.safetensors_file import require_file
from attention.sources.stored import StoredTensor

AT_ONCE = 1 << 22  # numbers multiplied out in one go: the package needs as much again meanwhile
PLAIN = {"F16": "float16", "F32": "float32", "F64": "float64", "BF16": "bfloat16"}  # torch's names
BROKEN = (
    OSError, ValueError, KeyError, IndexError, OverflowError, MemoryError, struct.error
)  # fmt: skip
Parts = tuple[int, list[Any], list[int], list[GGUFValueType]]


@dataclass(frozen=True)
class GgufFile:
    """What is in a GGUF file.

    Attributes:
        path: where it is.
        facts: its metadata as plain values, by key.
        tensors: by its own names; shapes in torch's order.
    """

    path: Path
    facts: Mapping[str, Any]
    tensors: Mapping[str, StoredTensor]


def read_gguf(path: Path) -> GgufFile:
    """Read the header of a GGUF file and map the rest into memory.

    Raises:
        ModelError: when it is missing, cut short, no such file or quantised in an unknown way.
    """
    require_file(path)
    try:
        reader = _Reader(path)
        facts = {name: field.contents() for name, field in reader.fields.items()}
    except BROKEN as error:
        raise ModelError(
            f"{path} must be a whole GGUF file; it cannot be read: {_said(error)}. Fetch it again."
        ) from error
    return GgufFile(path, facts, {t.name: _entry(t, path) for t in reader.tensors})


def _said(error: Exception) -> str:
    text = str(error).rstrip(".")
    return "it is cut short" if "reshape" in text or "index" in text or not text else text


class _Reader(GGUFReader):
    """Takes a row of strings or numbers at once; the package's own way takes seconds a vocabulary.

    Source: the layout of a row is that of the GGUF specification, `gguf_metadata_value_t`.
    """

    def _get_field_parts(self, orig_offs: SupportsInt, raw_type: SupportsInt) -> Parts:
        begin = int(orig_offs)
        if int(raw_type) != GGUFValueType.ARRAY or self.byte_order != "I":
            return super()._get_field_parts(begin, int(raw_type))
        start = begin + 12
        kind = GGUFValueType(int(self._get(begin, np.uint32)[0]))
        count = int(self._get(begin + 4, np.uint64)[0])
        if kind == GGUFValueType.STRING:
            return self._strings(begin, start, count)
        if kind not in self.gguf_scalar_to_np:
            return super()._get_field_parts(begin, int(raw_type))
        row = self._get(start, self.gguf_scalar_to_np[kind], count)
        if len(row) < count:
            raise ValueError("it is cut short")
        return start + row.nbytes - begin, [row], [0], [GGUFValueType.ARRAY, kind]

    def _strings(self, begin: int, start: int, count: int) -> Parts:
        raw = self.data.view(np.ndarray)
        buffer = memoryview(raw.data)
        words, at = [], start
        for _ in range(count):
            (length,) = struct.unpack_from("<Q", buffer, at)
            at += 8 + length
            words.append(raw[at - length : at])
        kinds = [GGUFValueType.ARRAY, GGUFValueType.STRING]
        return at - begin, words, list(range(count)), kinds[: 2 if count else 1]


def _entry(tensor: ReaderTensor, path: Path) -> StoredTensor:
    kind = tensor.tensor_type
    if not _can_be_multiplied_out(kind):
        raise ModelError(
            f"{tensor.name} in {path} must be in a type that can be multiplied out; got "
            f"{kind.name}. Take a file of another quantisation, such as Q8_0."
        )
    shape = tuple(int(size) for size in reversed(tensor.shape))
    return StoredTensor(
        shape, PLAIN.get(kind.name, kind.name), int(tensor.n_bytes), lambda: _read(tensor, shape)
    )


@cache
def _can_be_multiplied_out(kind: GGMLQuantizationType) -> bool:
    try:
        dequantize(np.zeros((1, GGML_QUANT_SIZES[kind][1]), np.uint8), kind)
    except NotImplementedError:
        return kind == GGMLQuantizationType.F64
    return True


def _read(tensor: ReaderTensor, shape: tuple[int, ...]) -> Tensor:
    """A tensor in float32, or in the float type that it is kept in."""
    kind, data = tensor.tensor_type, tensor.data
    if kind.name in ("F16", "F32", "F64"):
        return torch.from_numpy(np.array(data)).reshape(shape)
    rows = data.reshape(-1, data.shape[-1])
    out = np.empty((len(rows), shape[-1]), dtype=np.float32)
    step = max(1, AT_ONCE // shape[-1])
    for start in range(0, len(rows), step):
        out[start : start + step] = dequantize(rows[start : start + step], kind)
    assert out.size == math.prod(shape)  # the reader worked the byte shape out from this one
    return torch.from_numpy(out).reshape(shape)
