from attention import loading
from attention.cli import main


def test_models_are_listed_with_their_sizes_or_why_not(model_folder, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(loading, "EMBEDDED", loading.Path(model_folder))
    monkeypatch.chdir(tmp_path)
    broken = tmp_path / "models" / "broken"
    broken.mkdir(parents=True)
    (broken / "config.json").write_text('{"model_type": "gpt2"}')
    assert main(["models"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == ("embedded: 2 layers × 3 heads, d_model 15, vocabulary 300, context 61 tokens")
    assert second.startswith("models/broken: cannot be opened: model_type must be one of llama")
