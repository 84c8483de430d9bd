import json
import shutil
from pathlib import Path

import pytest
import torch
from huggingface_hub import constants

from attention import known_models as module
from attention import sources
from attention.known_models import KnownModel, find_models
from attention.loading import known_models, save_model
from tests.builders import model_config, small_model
from tests.sources.gguf.files import llama_facts, llama_tensors, write_gguf

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "model"
    save_model(small_model(model_config(num_heads=9, num_kv_heads=3)), folder)
    return folder


@pytest.fixture
def embedded(saved, monkeypatch):
    monkeypatch.setattr(sources, "EMBEDDED", saved)


def by_source(found):
    return {model.source: model for model in found}


def test_models_are_listed_with_their_sizes_or_their_problem(saved, embedded, tmp_path):
    root = tmp_path / "models"
    shutil.copytree(saved, root / "good")
    other = shutil.copytree(saved, root / "other")
    (other / "config.json").write_text('{"model_type": "mamba"}')
    bare = shutil.copytree(saved, root / "bare")
    (bare / "model.safetensors").unlink()
    (root / "notes").mkdir()
    (root / "notes.txt").write_text("not a model")
    write_gguf(root / "tiny.gguf", "llama", llama_facts(), llama_tensors())
    torch.save({"nothing": "known"}, root / "odd.pt")
    found = by_source(known_models(root))
    names = ("bare", "good", "odd.pt", "other", "tiny.gguf")
    assert list(found) == ["embedded", *(str(root / name) for name in names)]
    good = found[str(root / "good")]
    assert good.config is not None
    assert (good.config.num_heads, good.problem, good.title) == (9, None, "good")
    assert "model_type must be one of llama, " in found[str(other)].problem
    assert "must hold model.safetensors" in found[str(bare)].problem
    assert "must have a config.json beside it" in found[str(root / "odd.pt")].problem
    tiny = found[str(root / "tiny.gguf")]
    assert (tiny.config.num_heads, tiny.title, tiny.dtype) == (6, "tiny", "float32")


def test_sizes_on_the_disk_and_in_memory_are_told(saved, embedded, tmp_path):
    [model] = find_models(tmp_path / "none")
    numbers = sum(p.numel() for p in small_model(model.config).parameters())
    assert (model.num_bytes, model.dtype) == (2 * numbers, "float16")
    assert 4 * numbers < model.memory_needed(torch.float32) < 8 * numbers
    assert model.memory_needed(torch.bfloat16) < model.memory_needed(torch.float32)
    assert KnownModel("x", None, "broken").memory_needed(torch.float32) is None


def test_no_tensor_is_read_for_the_list(tmp_path, monkeypatch, embedded, as_in_use):
    def read(*_):
        raise AssertionError("a tensor was read")

    module._look.cache_clear()
    monkeypatch.setattr(sources.stored.StoredTensors, "__getitem__", read)
    path = write_gguf(tmp_path / "tiny.gguf", "llama", llama_facts(), llama_tensors())
    found = by_source(find_models(tmp_path))
    assert found[str(path)].config is not None


def test_what_did_not_change_is_not_looked_at_again(saved, embedded, tmp_path, monkeypatch):
    folder = shutil.copytree(saved, tmp_path / "models" / "a")
    assert by_source(find_models(tmp_path / "models"))[str(folder)].problem is None
    looked = []
    original = module.open_checkpoint
    monkeypatch.setattr(
        module, "open_checkpoint", lambda source: looked.append(source) or original(source)
    )
    find_models(tmp_path / "models")
    assert looked == []
    (folder / "config.json").write_text("{}")
    assert by_source(find_models(tmp_path / "models"))[str(folder)].problem
    assert looked == [str(folder)]


def test_without_any_model_only_the_embedded_one_is_listed(monkeypatch, tmp_path):
    monkeypatch.setattr(sources, "EMBEDDED", tmp_path / "none")
    [embedded] = known_models(tmp_path / "models")
    assert (embedded.source, embedded.config) == ("embedded", None)
    assert embedded.problem


@pytest.mark.parametrize("config", ["{", '{"model_type": "llama"}', "[]"])
def test_broken_folder_does_not_end_the_list(tmp_path, config):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text(config)
    assert known_models(tmp_path)[1].problem


# ------------------------------------------------------------------ the hub's cache


def put_in_cache(cache, saved, repo, *, commit=COMMIT, ref="main"):
    """As the library lays a repository out."""
    home = cache / f"models--{repo.replace('/', '--')}"
    snapshot = home / "snapshots" / commit
    (home / "blobs").mkdir(parents=True, exist_ok=True)
    snapshot.mkdir(parents=True)
    for path in saved.iterdir():
        blob = home / "blobs" / f"{path.name}-{commit}"
        shutil.copy(path, blob)
        (snapshot / path.name).symlink_to(blob)
    if ref:
        (home / "refs").mkdir(exist_ok=True)
        (home / "refs" / ref).write_text(commit)
    return snapshot


def test_models_of_the_cache_are_listed_by_their_ids(saved, embedded, tmp_path, monkeypatch):
    cache = tmp_path / "hub"
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    put_in_cache(cache, saved, "some/model")
    put_in_cache(cache, saved, "old", ref=None)
    snapshot = put_in_cache(cache, saved, "some/files")
    (snapshot / "config.json").unlink()
    tiny = write_gguf(snapshot / "tiny.gguf", "llama", llama_facts(), llama_tensors())
    (cache / "datasets--some--texts" / "snapshots").mkdir(parents=True)
    found = by_source(find_models(tmp_path / "none"))
    assert set(found) == {"embedded", "some/model", f"old@{COMMIT}", str(tiny)}
    assert {model.problem for model in found.values()} == {None}
    assert found["some/model"].config.num_heads == 9
    assert found[str(tiny)].title == "some/files: tiny"


def test_half_fetched_model_has_its_problem_told(saved, embedded, tmp_path, monkeypatch):
    cache = tmp_path / "hub"
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    snapshot = put_in_cache(cache, saved, "some/model")
    (snapshot / "model.safetensors").unlink()
    found = by_source(find_models(tmp_path / "none"))["some/model"]
    assert found.config is None
    assert "the hub cannot be reached" in found.problem


def test_list_is_json_able(saved, embedded, tmp_path):
    [model] = find_models(tmp_path / "none")
    assert json.loads(json.dumps([model.source, model.title, model.num_bytes, model.dtype]))


def test_folder_that_may_not_be_looked_into_leaves_the_others_listed(
    saved, embedded, tmp_path, monkeypatch
):
    for name in ("good", "closed"):
        shutil.copytree(saved, tmp_path / name)
    iterdir = Path.iterdir

    def refused(path):
        if path.name == "closed":
            raise PermissionError(13, "Permission denied", str(path))
        return iterdir(path)

    monkeypatch.setattr(Path, "iterdir", refused)
    found = by_source(find_models(tmp_path))
    assert str(tmp_path / "good") in found
    assert find_models(tmp_path / "closed") == [found["embedded"]]
