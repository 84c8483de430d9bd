"""Writes a model as others can open it."""

import json
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors.torch import save_file

from attention.errors import ModelError
from attention.families import find_family
from attention.model import LanguageModel
from attention.sources.folder import WEIGHTS

SAFETENSORS = WEIGHTS[0]


def save_model(
    model: LanguageModel,
    folder: Path,
    *,
    family: str = "llama",
    dtype: torch.dtype = torch.float16,
    weights: str = SAFETENSORS,
) -> None:
    """Write config.json, model.safetensors and, if there is one, tokenizer.json.

    Args:
        model: what to save.
        folder: made if it does not exist.
        family: a key of FAMILIES, the format.
        dtype: what the weights are kept in.
        weights: the name of their file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    format_ = find_family(family)
    if format_.write_config is None:
        raise ModelError(f"family must be one that can be written; got {family!r}.")
    written = {
        **format_.write_config(model.config),
        "torch_dtype": str(dtype).removeprefix("torch."),
    }
    text = json.dumps(written, indent=2) + "\n"
    _replace(folder / "config.json", lambda part: part.write_text(text, encoding="utf-8"))
    state = model.state_dict()
    tensors = {
        stored.name: state[ours].to(dtype).cpu().contiguous()
        for ours, stored in format_.weights(model.config).items()
    }
    _replace(
        folder / weights,
        lambda part: save_file(tensors, part, metadata={"format": "pt"}),
    )
    if model.tokenizer is not None:
        backend = model.tokenizer.backend
        _replace(folder / "tokenizer.json", lambda part: backend.save(str(part)))


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file beside `path`, then let it take that name: a reader sees the old or the new."""
    part = path.with_name(f".{path.name}.part")
    try:
        write(part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
