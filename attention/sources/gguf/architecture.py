"""What a GGUF architecture is: its metadata and names, told as transformers would."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from attention.errors import LARGEST, ModelError, shown, whole
from attention.sources.stored import StoredTensor

Config = dict[str, Any]
# What a file may say of its architecture that changes no number.
HARMLESS = ("vocab_size", "tensor_data_layout", "attention.value_length", "attention.causal")
BLOCK = re.compile(r"blk\.(\d+)\.(.+)\.(weight|bias)")
OUTER = re.compile(r"(.+)\.(weight|bias)")


@dataclass(frozen=True)
class Facts:
    """A file's metadata, asked for by key; every missing or odd value is an error that names it.

    Attributes:
        architecture: the first part of its keys.
        values: by key.
        tensors: their headers, by the file's names.
        where: the file, for errors.
    """

    architecture: str
    values: Mapping[str, Any]
    tensors: Mapping[str, StoredTensor]
    where: str

    def get(self, key: str, default: Any = None) -> Any:  # noqa: ANN401 - whatever the file holds
        """The value of a key of the architecture."""
        return self.values.get(f"{self.architecture}.{key}", default)

    def number(self, key: str, default: float | None = None) -> float:
        """A number.

        Raises:
            ModelError: when it is missing, or there is one for each layer.
        """
        value = self.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            got = "none" if value is None else repr(value)[:40]
            raise ModelError(
                f"{self.where} must say {self.architecture}.{key}, a number; got {got}."
            )
        return value

    def size(self, key: str, default: int | None = None) -> int:
        """A whole number.

        Raises:
            ModelError: when it is missing or none.
        """
        value = whole(self.number(key, default))
        if value is None or not 0 < value <= LARGEST:
            raise ModelError(
                f"{self.architecture}.{key} in {self.where} must be a whole number of at least 1; "
                f"got {shown(self.get(key, default))}."
            )
        return value

    def shape(self, name: str) -> tuple[int, int]:
        """The shape of a matrix.

        Raises:
            ModelError: when there is none of that name.
        """
        if name not in self.tensors:
            raise ModelError(f"{self.where} must hold {name}; it does not.")
        shape = self.tensors[name].shape
        if len(shape) != 2:
            raise ModelError(f"{name} in {self.where} must have two axes; got {shape}.")
        return shape

    def refuse_others(self, known: tuple[str, ...]) -> None:
        """Refuse what the file says of its architecture and nobody here reads.

        Raises:
            ModelError: names the key and its value.
        """
        prefix = f"{self.architecture}."
        for key, value in self.values.items():
            name = key.removeprefix(prefix)
            if key.startswith(prefix) and name not in (*known, *HARMLESS) and value:
                raise ModelError(
                    f"{self.where} must not ask for {key}, which is not supported; "
                    f"got {str(value)[:40]}."
                )


@dataclass(frozen=True)
class Architecture:
    """How the files of an architecture become a checkpoint of a family.

    Attributes:
        config: the metadata as a config.json.
        outer: the file's names outside of blocks to the family's.
        block: the same within a block.
        blocks: the family's name of block {}.
        change: what is done to a tensor of that name (the family's); None for nothing.
    """

    config: Callable[[Facts], Config]
    outer: Mapping[str, str]
    block: Mapping[str, str]
    blocks: str
    change: Callable[[str, Config], Callable[[Tensor], Tensor] | None]

    def name(self, theirs: str) -> str:
        """A tensor's name in the family; one that nobody knows stays as it is."""
        if (found := BLOCK.fullmatch(theirs)) and found.group(2) in self.block:
            layer, part, kind = found.groups()
            return f"{self.blocks.format(layer)}.{self.block[part]}.{kind}"
        if (found := OUTER.fullmatch(theirs)) and found.group(1) in self.outer:
            return f"{self.outer[found.group(1)]}.{found.group(2)}"
        return theirs
