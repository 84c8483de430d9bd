"""Opens a model from wherever it is: the box, a folder, a file, the Hugging Face hub."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

from attention.assemble import fill, place_weights, read_config, short
from attention.devices import find_device
from attention.known_models import KnownModel, find_models, known_models
from attention.memory import require_room
from attention.model import LanguageModel
from attention.saving import save_model
from attention.sizes import memory_needed
from attention.sources import EMBEDDED, open_checkpoint, read_tokenizer

Progress = Callable[[int, int], None]  # bytes done, bytes in all

__all__ = [
    "EMBEDDED",
    "KnownModel",
    "find_models",
    "known_models",
    "load_model",
    "memory_needed",
    "save_model",
]


def load_model(
    source: str = "embedded",
    *,
    device: str = "cpu",
    dtype: torch.dtype = torch.float32,
    weights: str | None = None,
    num_heads: int | None = None,
    progress: Progress | None = None,
) -> LanguageModel:
    """Open a model, ready to run. Whatever is wrong with it is found before anything is changed.

    Args:
        source: "embedded"; a folder with config.json, weights and tokenizer (without the last it
            takes token ids only); a file (.safetensors, .pt, .pth, .bin, .gguf); or a model of the
            Hugging Face hub, owner/name or owner/name@revision.
        device: where it runs; see `available_devices`.
        dtype: what it computes in.
        weights: which file of the folder, where it holds several checkpoints.
        num_heads: of a checkpoint that doesn't tell it (the book's state dict); those of GPT-2's
            own widths are known.
        progress: told of bytes done and bytes in all: of the download, if there is one, and then
            of reading. May raise to stop.

    Raises:
        ModelError: when something is missing, extra, misshapen, not finite or not supported.
        DeviceError: when the device cannot be used, lacks the dtype or has too little memory.
    """
    where = find_device(device, short(dtype))

    def room_for(config: Mapping[str, Any]) -> None:
        _, sizes = read_config(config)
        require_room(memory_needed(sizes, dtype), where.name, source, short(dtype))

    checkpoint = open_checkpoint(source, weights=weights, progress=progress, before=room_for)
    family, config = read_config(checkpoint.config, num_heads=num_heads)
    require_room(memory_needed(config, dtype), where.name, source, short(dtype))
    places = place_weights(checkpoint, family, config)
    checkpoint = replace(checkpoint, tokenizer=read_tokenizer(checkpoint))
    return fill(checkpoint, places, config, device=where.name, dtype=dtype, progress=progress)
