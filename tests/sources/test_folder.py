import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from attention.errors import ModelError
from attention.loading import load_model, save_model
from attention.sources.folder import find_weights
from tests.builders import model_config, small_model

IDS = (7, 1, 2, 3, 1, 2, 3)


@pytest.fixture(scope="module")
def model():
    return small_model(model_config(num_heads=9, num_kv_heads=3))


@pytest.fixture
def folder(model, tmp_path):
    save_model(model, tmp_path / "model", dtype=torch.float32)
    return tmp_path / "model"


def in_shards(folder, suffix="safetensors"):
    """The same weights in two files under an index."""
    whole = folder / "model.safetensors"
    tensors = load_file(whole)
    stem = "model" if suffix == "safetensors" else "pytorch_model"
    places = {}
    for part in (1, 2):
        name = f"{stem}-0000{part}-of-00002.{suffix}"
        held = {key: tensors[key] for i, key in enumerate(sorted(tensors)) if i % 2 == part - 1}
        save_file(held, folder / name) if stem == "model" else torch.save(held, folder / name)
        places |= dict.fromkeys(held, name)
    whole.unlink()
    index = folder / f"{stem}.{suffix}.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": places}))
    return index


def assert_opens(source, model):
    opened = load_model(str(source))
    torch.testing.assert_close(opened.state_dict(), model.state_dict(), rtol=0, atol=0)


@pytest.mark.parametrize("suffix", ["safetensors", "bin"])
def test_shards_open_as_one_model(suffix, folder, model):
    index = in_shards(folder, suffix)
    assert_opens(folder, model)
    assert_opens(index, model)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pth", "ckpt.pt"])
@pytest.mark.parametrize("zipped", [True, False])
def test_pickled_weights_open(name, zipped, folder, model):
    whole = folder / "model.safetensors"
    torch.save(load_file(whole), folder / name, _use_new_zipfile_serialization=zipped)
    whole.unlink()
    assert_opens(folder, model)
    assert_opens(folder / name, model)


def test_compiled_models_checkpoint_opens(folder, model):
    tensors = load_file(folder / "model.safetensors")
    save_file({f"_orig_mod.{k}": t for k, t in tensors.items()}, folder / "model.safetensors")
    assert_opens(folder, model)


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_one_file_stands_for_its_folder(name, folder, model):
    assert_opens(folder / name, model)


def test_safetensors_are_taken_before_pickles(folder):
    torch.save({}, folder / "pytorch_model.bin")
    assert find_weights(folder).name == "model.safetensors"


# ------------------------------------------------------------------ broken folders


def test_missing_shard_is_named(folder):
    in_shards(folder)
    (folder / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(ModelError, match=r"must hold model-00002-of-00002\.safetensors, wh"):
        load_model(str(folder))


def test_weight_that_no_shard_has_is_named(folder):
    index = in_shards(folder)
    known = json.loads(index.read_text())
    known["weight_map"]["model.more.weight"] = "model-00001-of-00002.safetensors"
    index.write_text(json.dumps(known))
    with pytest.raises(ModelError, match=r"model-00001.* must hold model\.more\.weight"):
        load_model(str(folder))


def test_truncated_shard_is_named(folder):
    in_shards(folder)
    path = folder / "model-00001-of-00002.safetensors"
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(ModelError, match=r"model-00001-of-00002\.safetensors must be a whole"):
        load_model(str(folder))


def test_several_files_of_no_usual_name_are_listed(folder):
    shutil.move(folder / "model.safetensors", folder / "a.safetensors")
    shutil.copy(folder / "a.safetensors", folder / "b.safetensors")
    with pytest.raises(ModelError, match=r"it holds a\.safetensors, b\.safetensors\. Give"):
        load_model(str(folder))
    assert load_model(str(folder), weights="b.safetensors").run(IDS).seq_len == len(IDS)
    for name in ("c.pt", "d.bin"):
        (folder / name).touch()
    with pytest.raises(ModelError, match=r"b\.safetensors, c\.pt and 1 more\. Give the path"):
        load_model(str(folder))


def test_weights_that_are_asked_for_and_missing_are_named(folder):
    with pytest.raises(ModelError, match=r"must hold 3\.safetensors; it does not"):
        load_model(str(folder), weights="3.safetensors")


def test_file_of_weights_without_a_config_says_what_is_missing(folder):
    (folder / "config.json").unlink()
    message = r"model\.safetensors must have a config\.json beside it, or be .*nanogpt"
    for source in (folder, folder / "model.safetensors"):
        with pytest.raises(ModelError, match=message):
            load_model(str(source))


def test_folder_of_several_models_asks_for_one(folder):
    (folder / "config.json").unlink()
    (folder / "x.gguf").touch()
    with pytest.raises(ModelError, match=r"must hold config\.json.* such as model\.safetensors"):
        load_model(str(folder))


def test_empty_folder_is_refused(tmp_path):
    with pytest.raises(ModelError, match=r"must hold config\.json; it does not\.$"):
        load_model(str(tmp_path))


def test_file_of_another_kind_is_refused(folder):
    (folder / "notes.txt").touch()
    with pytest.raises(ModelError, match=r"must end in \.gguf, .* got 'notes\.txt'"):
        load_model(str(folder / "notes.txt"))


def test_tokenizer_beside_another_file_is_none_of_its(folder, model):
    # A GGUF file has its tokenizer in itself.
    assert load_model(str(folder)).tokenizer is None
