"""How large a model is, worked out from its config alone."""

from dataclasses import replace
from functools import lru_cache

import torch

from attention.model_config import ModelConfig

LAYER = "blocks.0."
READING = 4  # bytes for each number of the largest tensor, while it is multiplied out or converted


@lru_cache(maxsize=128)
def parameter_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """The shapes of everything outside the blocks and in the first one; the others are alike.

    Takes no memory and no time to speak of, whatever the config says.
    """
    from attention.blank import blank_model

    model = blank_model(replace(config, num_layers=1, layers=config.layers[:1]))
    return {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}


def shape_of(config: ModelConfig, name: str) -> tuple[int, ...] | None:
    """The shape of one of our parameters, by name; None for one that there is not."""
    head, _, rest = name.partition(".")
    if head != "blocks":
        return parameter_shapes(config).get(name)
    return parameter_shapes(config).get(LAYER + rest.partition(".")[2])


def num_parameters(config: ModelConfig) -> int:
    """How many numbers a model learned."""
    sizes = _sizes(config)
    layer = sum(size for name, size in sizes.items() if name.startswith(LAYER))
    return sum(sizes.values()) + (config.num_layers - 1) * layer


def memory_needed(config: ModelConfig, dtype: torch.dtype) -> int:
    """About how much memory opening a model takes, bytes: its weights, and reading the largest.

    Leaves out what a text takes when it is run.
    """
    return num_parameters(config) * dtype.itemsize + READING * max(_sizes(config).values())


def _sizes(config: ModelConfig) -> dict[str, int]:
    sizes = {}
    for name, shape in parameter_shapes(config).items():
        sizes[name] = 1
        for size in shape:
            sizes[name] *= size
    return sizes
