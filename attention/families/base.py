"""What a family of checkpoints is: a config and tensors in its own terms, told in ours."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from attention.model_config import ModelConfig

Config = Mapping[str, Any]  # a parsed config.json
Recognise = Callable[[Mapping[str, Any]], tuple[dict[str, Any], Mapping[str, Tensor]] | None]


@dataclass(frozen=True)
class Stored:
    """Where one of our parameters is in a checkpoint.

    Attributes:
        name: of the tensor there.
        take: our parameter from that tensor: transposed, a slice of it; None for as it is.
        shape: of the tensor there; None for that of our parameter.
    """

    name: str
    take: Callable[[Tensor], Tensor] | None = None
    shape: tuple[int, ...] | None = None

    def read(self, tensor: Tensor) -> Tensor:
        """Our parameter from the tensor of that name."""
        return tensor if self.take is None else self.take(tensor)


@dataclass(frozen=True)
class Family:
    """A way to write a model down.

    Attributes:
        name: the `model_type` in its config.json.
        read_config: the parsed config.json to our config; refuses by name what is not supported.
        weights: our parameter names to where they are.
        spare: regular expressions for names that may be there and are not needed, such as masks.
        write_config: our config to a config.json; None where we don't write this family. Its
            tensors are then those of `weights`, which are taken as they are.
        recognise: a saved object that has no config.json to its config and tensors; None where it
            is not of this family.
    """

    name: str
    read_config: Callable[[Config], ModelConfig]
    weights: Callable[[ModelConfig], dict[str, Stored]]
    spare: tuple[str, ...] = ()
    write_config: Callable[[ModelConfig], dict[str, Any]] | None = None
    recognise: Recognise | None = None


def as_they_are(names: Mapping[str, str]) -> dict[str, Stored]:
    """Our parameter names to tensors that need no change."""
    return {ours: Stored(theirs) for ours, theirs in names.items()}
