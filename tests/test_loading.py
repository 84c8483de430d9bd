import shutil

import pytest
import torch

from attention import memory, sources
from attention.errors import ConfigError, DeviceError, HeadscopeError, ModelError
from attention.loading import load_model, memory_needed
from tests.saved import IDS, change_config, nothing_is_built, save_small


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return save_small(tmp_path_factory.mktemp("saved") / "model")


@pytest.fixture
def folder(saved, tmp_path):
    """A copy of the saved model that a test may break."""
    return shutil.copytree(saved, tmp_path / "model")


# ------------------------------------------------------------------ whole models


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_model_opens_in_the_dtype_asked_for(saved, dtype):
    model = load_model(str(saved), dtype=dtype)
    assert model.dtype == dtype
    assert model.run("the cat").logits.isfinite().all()


def test_tokenizer_comes_with_the_model(saved):
    model = load_model(str(saved))
    assert model.run("the cat").tokens.labels == ("<bos>", "the", "␣cat")


def test_model_without_a_tokenizer_takes_ids(folder):
    (folder / "tokenizer.json").unlink()
    model = load_model(str(folder))
    assert model.tokenizer is None
    assert model.run(IDS).seq_len == len(IDS)


# ------------------------------------------------------------------ broken models


@pytest.mark.parametrize("source", ["nowhere", "\x00", "x" * 5000, "no/model/here", "a..b"])
def test_source_that_is_nowhere_is_refused(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match=r"model must be 'embedded', a folder.* file"):
        load_model(source)


def test_missing_embedded_model_says_how_to_make_it(monkeypatch, tmp_path):
    monkeypatch.setattr(sources, "EMBEDDED", tmp_path / "none")
    with pytest.raises(ModelError, match="Make it with `python -m attention train --out"):
        load_model()


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(ModelError, match=f"must (have a|hold) {name}"):
        load_model(str(folder))


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff\xfe{}", b"[" * 100_000, b'{"model_type": nan}']
)
def test_config_that_is_no_json_is_refused(folder, content):
    (folder / "config.json").write_bytes(content)
    with pytest.raises(ModelError, match=r"config\.json must be JSON; it cannot be read"):
        load_model(str(folder))


def test_config_that_is_no_object_is_refused(folder):
    (folder / "config.json").write_text("[1, 2]")
    with pytest.raises(ModelError, match="must hold a JSON object; it holds list"):
        load_model(str(folder))


@pytest.mark.parametrize("model_type", ["mamba", None, 5, ["llama"]])
def test_other_family_is_refused_by_name(folder, model_type):
    change_config(folder, model_type=model_type)
    with pytest.raises(ModelError, match=r"model_type must be one of llama, .*; got") as error:
        load_model(str(folder))
    assert repr(model_type) in str(error.value)


def test_broken_tokenizer_is_refused(folder):
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelError, match=r"must be a tokenizer\.json"):
        load_model(str(folder))


def test_number_of_heads_is_taken_from_the_model_where_it_says_it(folder):
    with pytest.raises(ModelError, match="num_heads must be left out, as the model itself says 3"):
        load_model(str(folder), num_heads=5)
    with pytest.raises(ConfigError, match="num_heads must be a whole number of at least 1"):
        load_model(str(folder), num_heads=0)
    assert load_model(str(folder), num_heads=3).config.num_heads == 3


def test_device_is_checked_before_the_model_is_read(tmp_path):
    with pytest.raises(DeviceError, match="device must be one of"):
        load_model(str(tmp_path / "none"), device="gpu")
    with pytest.raises(ConfigError, match="dtype must be one of"):
        load_model(str(tmp_path / "none"), dtype=torch.int8)


def test_every_error_is_one_of_ours():
    assert issubclass(ModelError, HeadscopeError)
    assert issubclass(HeadscopeError, ValueError)


# ------------------------------------------------------------------ memory


def test_model_of_40_gb_on_a_machine_of_24_is_refused_by_its_config_alone(folder, monkeypatch):
    nothing_is_built(monkeypatch)
    monkeypatch.setattr(memory, "free_memory", lambda device: 24 * 10**9)
    change_config(
        folder,
        hidden_size=5120,
        intermediate_size=13824,
        num_hidden_layers=31,
        num_attention_heads=40,
        num_key_value_heads=40,
        head_dim=128,
        vocab_size=32000,
    )
    with pytest.raises(DeviceError, match=r"at least 40\.\d GB for .* it is 24\.0 GB") as error:
        load_model(str(folder))
    assert "bfloat16" in str(error.value), "which would do"


def test_model_of_any_size_is_refused_at_once(folder):
    change_config(folder, num_hidden_layers=10**4, vocab_size=10**12)
    with pytest.raises(DeviceError, match="free memory of cpu must be at least"):
        load_model(str(folder))
    change_config(folder, num_hidden_layers=10**12)
    with pytest.raises(ModelError, match=r"num_hidden_layers in .* must be at most 10000; got"):
        load_model(str(folder))


def test_model_opens_where_its_need_is_just_met(saved, monkeypatch):
    config = load_model(str(saved)).config
    needed = memory_needed(config, torch.float32)
    monkeypatch.setattr(memory, "free_memory", lambda device: needed)
    assert load_model(str(saved)).run(IDS).seq_len == len(IDS)
    monkeypatch.setattr(memory, "free_memory", lambda device: needed - 1)
    with pytest.raises(DeviceError, match="free memory of cpu must be at least"):
        load_model(str(saved))
    assert load_model(str(saved), dtype=torch.bfloat16).dtype == torch.bfloat16
