from pathlib import Path

from attention import known_models, sources
from attention.cli import main
from tests.sources.gguf.files import llama_facts, llama_tensors, write_gguf


def test_models_are_listed_with_their_sizes_or_why_not(model_folder, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(sources, "EMBEDDED", Path(model_folder))
    monkeypatch.setattr(known_models, "LOCAL_MODELS", Path("models"))
    monkeypatch.chdir(tmp_path)
    broken = tmp_path / "models" / "broken"
    broken.mkdir(parents=True)
    (broken / "config.json").write_text('{"model_type": "mamba"}')
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
