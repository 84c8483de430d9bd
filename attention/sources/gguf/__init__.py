"""GGUF files as checkpoints of the families that transformers has: no family knows of GGUF.

Source: the names and the changes undone here are those of llama.cpp's `convert_hf_to_gguf.py`.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from attention.checkpoint import Checkpoint
from attention.errors import ModelError, shown
from attention.sources.gguf.architecture import Architecture, Facts
from attention.sources.gguf.gpt import GPT2, GPTNEOX
from attention.sources.gguf.llama import FREQUENCIES, LLAMA, QWEN
from attention.sources.gguf.reader import read_gguf
from attention.sources.stored import StoredTensor, StoredTensors

ARCHITECTURES: dict[str, Architecture] = {
    "llama": LLAMA,
    "qwen2": QWEN,
    "qwen3": QWEN,
    "gpt2": GPT2,
    "gptneox": GPTNEOX,
}
IDS = {  # of tokens: the file's keys to a config.json's
    "tokenizer.ggml.bos_token_id": "bos_token_id",
    "tokenizer.ggml.eos_token_id": "eos_token_id",
}


def open_gguf(path: Path, name: str) -> Checkpoint:
    """Read the header of a GGUF file; its tensors are multiplied out when they are looked up.

    Args:
        path: the file.
        name: what a person calls it.

    Raises:
        ModelError: when it cannot be read, or says something that is not supported.
    """
    found = read_gguf(path)
    kind = found.facts.get("general.architecture")
    if not isinstance(kind, str) or kind not in ARCHITECTURES:
        raise ModelError(
            f"general.architecture in {path} must be one of {', '.join(ARCHITECTURES)}; "
            f"got {shown(kind)}."
        )
    if found.facts.get("split.count", 1) not in (0, 1):
        raise ModelError(f"{path} must be a whole model; it is one of several parts.")
    made = ARCHITECTURES[kind]
    config = made.config(Facts(kind, found.facts, found.tensors, str(path)))
    config |= {ours: found.facts[key] for key, ours in IDS.items() if key in found.facts}
    entries = {}
    for theirs, entry in found.tensors.items():
        if theirs != FREQUENCIES:  # told in the config
            ours = made.name(theirs)
            entries[ours] = _changed(entry, made.change(ours, config), theirs)
    return Checkpoint(name, config, StoredTensors(entries), None, str(path))


def _changed(
    entry: StoredTensor, change: Callable[[Tensor], Tensor] | None, name: str
) -> StoredTensor:
    if change is None:
        return entry
    try:
        shape = tuple(change(torch.empty(entry.shape, device="meta")).shape)
    except (RuntimeError, ZeroDivisionError, ValueError, TypeError) as error:
        raise ModelError(
            f"{name} must be of a shape that its heads divide; got {entry.shape}."
        ) from error
    return replace(entry, shape=shape, read=lambda: change(entry.read()))
