"""What a family of checkpoints is: a config and tensors in its own terms, told in ours."""

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard

from torch import Tensor

from attention.errors import ModelError
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
        prefix: what names begin with except in a file that was saved without the read-out.
        also: other names of tensors, where files differ.
    """

    name: str
    read_config: Callable[[Config], ModelConfig]
    weights: Callable[[ModelConfig], dict[str, Stored]]
    spare: tuple[str, ...] = ()
    write_config: Callable[[ModelConfig], dict[str, Any]] | None = None
    recognise: Recognise | None = None
    prefix: str = ""
    also: Mapping[str, str] = field(default_factory=dict)

    def stored(self, config: ModelConfig, names: Container[str]) -> dict[str, Stored]:
        """Our parameter names to where they are among these names, of those that they may have.

        Args:
            config: of the model.
            names: of the tensors in the checkpoint.
        """

        def there(name: str) -> str:
            choices = (name, name.removeprefix(self.prefix), self.also.get(name, name))
            return next((choice for choice in choices if choice in names), name)

        wanted = self.weights(config)
        return {ours: replace(place, name=there(place.name)) for ours, place in wanted.items()}


def are_tensors(found: object) -> TypeGuard[Mapping[str, Tensor]]:
    """Whether it is tensors by name; those of a mapping that reads when asked are not read."""
    if not isinstance(found, dict):
        return isinstance(found, Mapping)
    return bool(found) and all(isinstance(value, Tensor) for value in found.values())


def matrix_shape(tensors: Mapping[str, Tensor], name: str) -> tuple[int, int]:
    """The shape of a matrix from which sizes are read.

    Raises:
        ModelError: when it has not two axes.
    """
    shape = tuple(tensors[name].shape)
    if len(shape) != 2:
        raise ModelError(f"{name} must have two axes; it has shape {shape}.")
    return shape


def transposed(tensor: Tensor) -> Tensor:
    """A linear map (in, out) as (out, in)."""
    return tensor.transpose(0, 1)


def as_they_are(names: Mapping[str, str]) -> dict[str, Stored]:
    """Our parameter names to tensors that need no change."""
    return {ours: Stored(theirs) for ours, theirs in names.items()}


def named(ours: str, theirs: str, *, bias: bool = True) -> dict[str, Stored]:
    """The weight of a linear map or a norm, and its bias if it has one, taken as they are."""
    kinds = ("weight", "bias") if bias else ("weight",)
    return as_they_are({f"{ours}.{kind}": f"{theirs}.{kind}" for kind in kinds})
