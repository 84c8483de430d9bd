"""A small model saved to a folder, and ways to break it."""

import json

import torch
from safetensors.torch import load_file, save_file

from attention import loading
from attention.loading import save_model
from attention.tokens import Tokenizer
from tests.builders import byte_level_backend, model_config, small_model

IDS = (7, 1, 2, 3, 1, 2, 3)
MIDDLE = "model.layers.1.self_attn.k_proj.weight"


def save_small(folder):
    """A Llama of 2 layers, 3 heads and 300 tokens in float32, with a tokenizer."""
    tokenizer = Tokenizer(byte_level_backend(vocab_size=300))
    model = small_model(model_config(vocab_size=300), tokenizer=tokenizer)
    save_model(model, folder, dtype=torch.float32)
    return folder


def change_config(folder, **entries):
    path = folder / "config.json"
    config = json.loads(path.read_text()) | entries
    path.write_text(json.dumps({k: v for k, v in config.items() if v is not ...}))


def change_weights(folder, change):
    path = folder / "model.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path)


def nothing_is_built(monkeypatch):
    """From here on a tensor that is read, or a model that is built, is a failure."""

    def built(*_, **__):
        raise AssertionError("it must be refused before anything is read")

    monkeypatch.setattr(loading, "fill", built)
