"""Tensors that stay in their file until they are looked up."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from torch import Tensor

from attention.errors import ModelError

# What `torch.compile` and `nn.DataParallel` put into every name.
COMPILED = "_orig_mod."
PARALLEL = "module."

Value = TypeVar("Value")


@dataclass(frozen=True)
class StoredTensor:
    """What a file's header says of a tensor.

    Attributes:
        shape: of the tensor that `read` gives.
        dtype: what the file keeps it in: torch's name (float16), or GGUF's (Q4_1).
        num_bytes: what it takes in the file.
        read: gives the tensor. It may be a view of the file: copy it before it is kept.
    """

    shape: tuple[int, ...]
    dtype: str
    num_bytes: int
    read: Callable[[], Tensor]


class StoredTensors(Mapping[str, Tensor]):
    """Tensors by name, each read when it is looked up and not kept.

    Args:
        entries: what the headers say.
    """

    def __init__(self, entries: Mapping[str, StoredTensor]) -> None:
        self.entries = dict(entries)

    @classmethod
    def of(cls, tensors: Mapping[str, Tensor]) -> "StoredTensors":
        """Tensors that are there already, such as those of a pickle mapped into memory."""
        return cls({name: _present(tensor) for name, tensor in tensors.items()})

    def __getitem__(self, name: str) -> Tensor:
        return self.entries[name].read()

    def __contains__(self, name: object) -> bool:  # Mapping's own would read the tensor
        return name in self.entries

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def num_bytes(self) -> int:
        """What they take in the file together."""
        return sum(entry.num_bytes for entry in self.entries.values())

    @property
    def dtype(self) -> str:
        """What most of the bytes are kept in; empty without any."""
        counts: Counter[str] = Counter()
        for entry in self.entries.values():
            counts[entry.dtype] += entry.num_bytes
        return counts.most_common(1)[0][0] if counts else ""


def _present(tensor: Tensor) -> StoredTensor:
    return StoredTensor(
        tuple(tensor.shape),
        str(tensor.dtype).removeprefix("torch."),
        tensor.numel() * tensor.element_size(),
        lambda: tensor,
    )


def plain_names(named: Mapping[str, Value], where: str) -> dict[str, Value]:
    """The same under the names that the model itself has: no compiler's, no wrapper's prefix.

    Raises:
        ModelError: when two names become one.
    """
    plain = {name: name.replace(COMPILED, "") for name in named}
    if plain and all(name.startswith(PARALLEL) for name in plain.values()):
        plain = {name: short.removeprefix(PARALLEL) for name, short in plain.items()}
    twice = [name for name, count in Counter(plain.values()).items() if count > 1]
    if twice:
        raise ModelError(f"{where} must hold {twice[0]} once; it holds it under two prefixes.")
    return {plain[name]: value for name, value in named.items()}
