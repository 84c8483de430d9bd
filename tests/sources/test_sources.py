import os
import shutil
from pathlib import Path

import pytest
from huggingface_hub import constants

from attention import sources
from attention.errors import ModelError
from attention.loading import save_model
from attention.sources import find_place, open_checkpoint, stamp
from attention.sources.hub import HubId
from tests.builders import small_model
from tests.sources.gguf.files import llama_facts, llama_tensors, write_gguf
from tests.test_known_models import put_in_cache


@pytest.fixture
def folder(tmp_path):
    save_model(small_model(), tmp_path / "model")
    return tmp_path / "model"


def test_path_that_is_there_is_no_name_of_the_hub(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    shutil.copytree(folder, folder.parent / "gpt2")
    assert str(find_place("gpt2")) == "gpt2"
    assert find_place("gpt3") == HubId("gpt3")


@pytest.mark.parametrize("source", ["nothing.gguf", "a/nothing.pt", "x.safetensors"])
def test_file_that_is_missing_is_not_looked_for_on_the_hub(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match="which is none"):
        find_place(source)


def test_name_and_place_of_a_checkpoint(folder):
    found = open_checkpoint(str(folder))
    assert (found.name, found.where) == (str(folder), str(folder / "model.safetensors"))
    assert found.tokenizer is None


def test_folder_of_one_file_is_that_file(tmp_path):
    (tmp_path / "gguf").mkdir()
    write_gguf(tmp_path / "gguf" / "m.gguf", "llama", llama_facts(), llama_tensors())
    for _ in range(2):
        found = open_checkpoint(str(tmp_path / "gguf"))
        assert (found.config["num_attention_heads"], found.name) == (6, str(tmp_path / "gguf"))
        (tmp_path / "gguf" / "config.json").write_text('{"model_type": "llama"}')


def test_path_below_the_home_folder(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder.parent))
    assert find_place("~/model") == folder
    assert open_checkpoint("~/model").name == "~/model"


@pytest.mark.parametrize("method", ["iterdir", "is_file"])
def test_folder_that_may_not_be_looked_into_is_one_sentence(method, folder, monkeypatch):
    def refused(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, method, refused)
    with pytest.raises(ModelError, match=r"must be readable; .* is not: Permission denied\."):
        open_checkpoint(str(folder))


# ------------------------------------------------------------------ stamps


def test_stamp_changes_with_the_files(folder):
    before = stamp(str(folder))
    assert before == stamp(str(folder)) != 0
    weights = folder / "model.safetensors"
    os.utime(weights, ns=(1, weights.stat().st_mtime_ns + 1))
    after = stamp(str(folder))
    assert after != before
    (folder / "tokenizer.json").write_text("{}")
    assert stamp(str(folder)) not in (before, after)


def test_stamp_of_a_file_is_its_own(tmp_path):
    path = write_gguf(tmp_path / "m.gguf", "llama", llama_facts(), llama_tensors())
    before = stamp(str(path))
    (tmp_path / "other").touch()
    assert stamp(str(path)) == before
    path.write_bytes(path.read_bytes() + b"x")
    assert stamp(str(path)) != before


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "merges.txt"])
def test_stamp_of_a_file_changes_with_the_config_and_tokenizer_beside_it(folder, name):
    # The page went on with the model of the config before.
    path = str(folder / "model.safetensors")
    before = stamp(path)
    (folder / name).write_text("{} ")
    assert stamp(path) != before
    (folder / "other.safetensors").touch()
    after = stamp(path)
    (folder / "other.safetensors").unlink()
    assert stamp(path) == after


@pytest.mark.parametrize("source", ["nowhere", "a/b@main", "x.gguf", "\x00"])
def test_what_is_not_there_has_no_stamp(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert stamp(source) == 0


def test_stamp_of_the_embedded_model(monkeypatch, tmp_path):
    assert stamp("embedded") != 0
    monkeypatch.setattr(sources, "EMBEDDED", tmp_path / "none")
    assert stamp("embedded") == 0


def test_stamp_of_a_model_of_the_hub_is_that_of_the_cache(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    put_in_cache(tmp_path / "hub", folder, "some/model")
    assert stamp("some/model") != 0
    assert stamp("some/other") == 0
