import shutil
from pathlib import Path

import numpy as np
import torch

from attention import known_models, sources
from attention.cli import main
from tests.families.references import BookGPT
from tests.sources.gguf.files import llama_facts, llama_tensors, write_gguf


def test_models_are_listed_with_their_sizes_or_why_not(model_folder, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(sources, "EMBEDDED", Path(model_folder))
    monkeypatch.setattr(known_models, "LOCAL_MODELS", Path("models"))
    monkeypatch.chdir(tmp_path)
    broken = tmp_path / "models" / "broken"
    broken.mkdir(parents=True)
    (broken / "config.json").write_text('{"model_type": "mamba"}')
    shutil.copy(Path(model_folder) / "model.safetensors", broken)
    write_gguf(tmp_path / "models" / "tiny.gguf", "llama", llama_facts(), llama_tensors())
    assert main(["models"]) == 0
    said = capsys.readouterr()
    first, second, third = said.out.splitlines()
    assert first == (
        "embedded: 2 layers × 3 heads, d_model 15, vocabulary 300, context 61 tokens; "
        "38.8 kB in float32, 56.8 kB of memory in float32"
    )
    assert second.startswith("models/broken: cannot be opened: model_type must be one of llama")
    assert third.startswith("models/tiny.gguf: 2 layers × 6 heads (2 kv heads), d_model 24, ")
    assert said.err.startswith("Free memory: ")


def test_number_of_heads_is_given_for_a_state_dict_that_does_not_tell_it(tmp_path, refused):
    config = {"vocab_size": 101, "context_length": 61, "emb_dim": 15, "n_heads": 3, "n_layers": 2}
    path, out = tmp_path / "model.pth", tmp_path / "out.npz"
    torch.save(BookGPT({**config, "qkv_bias": False}).state_dict(), path)
    told = [str(part) for part in ("run", "--model", path, "--ids", "1 2 3", "--out", out)]
    assert "Give num_heads" in refused(*told)
    assert main([*told, "--num-heads", "3"]) == 0
    with np.load(out) as written:
        assert written["pattern"].shape == (2, 3, 3, 3)
