"""The model that everybody opens: of GPT-2 small's size, with random weights, saved once.

A context of 8,192 instead of 1,024, so that long texts fit; no tokenizer, so texts are token ids.
"""

import shutil
from pathlib import Path

from tests.browser.server import ROOT

FOLDER = ROOT / "build" / "peers"
LAYERS, HEADS, WIDTH, VOCAB, CONTEXT = 12, 12, 768, 50_257, 8_192
# 0.02, as GPT-2 is begun with, would make every pattern the same faint grey.
SPREAD = 0.05


def gpt2_size(folder: Path = FOLDER, **sizes: int) -> Path:
    """The model's folder; it is written if it is not there."""
    found = folder / "gpt2-size"
    if (found / "config.json").exists():
        return found
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    asked = {"n_layer": LAYERS, "n_head": HEADS, "n_embd": WIDTH, "vocab_size": VOCAB}
    config = GPT2Config(
        **{**asked, "n_positions": CONTEXT, **sizes},
        initializer_range=SPREAD,
        bos_token_id=None,
        eos_token_id=None,
    )
    model = GPT2LMHeadModel(config)
    half = folder / "gpt2-size.part"
    shutil.rmtree(half, ignore_errors=True)
    model.save_pretrained(half)
    half.rename(found)
    return found


def ids_of(length: int, *, seed: int = 0, vocab: int = VOCAB) -> list[int]:
    """Random token ids, the same every time."""
    import numpy as np

    return [int(n) for n in np.random.default_rng(seed).integers(1, vocab, length)]
