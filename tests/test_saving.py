import json

import pytest
import torch
from safetensors.torch import load_file

from attention import saving
from attention.errors import ModelError
from attention.loading import load_model, save_model
from tests.builders import model_config, small_model

IDS = (7, 1, 2, 3, 1, 2, 3)


@pytest.mark.parametrize(
    "config", [model_config(qkv_bias=True), model_config(num_heads=9, num_kv_heads=3)]
)
def test_saved_model_opens_as_it_was(tmp_path, config):
    model = small_model(config)
    save_model(model, tmp_path, dtype=torch.float32)
    opened = load_model(str(tmp_path))
    assert opened.config == config
    assert not opened.training
    assert opened.name == str(tmp_path)
    torch.testing.assert_close(opened.state_dict(), model.state_dict(), rtol=0, atol=0)
    torch.testing.assert_close(opened.run(IDS).logits, model.run(IDS).logits, rtol=0, atol=0)


def test_model_is_kept_in_float16_unless_said_otherwise(tmp_path):
    model = small_model()
    save_model(model, tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    assert {tensor.dtype for tensor in tensors.values()} == {torch.float16}
    assert json.loads((tmp_path / "config.json").read_text())["torch_dtype"] == "float16"
    torch.testing.assert_close(
        load_model(str(tmp_path)).state_dict(), model.half().float().state_dict()
    )


def test_dtype_in_the_config_is_that_of_the_weights(tmp_path):
    # It once said float16 whatever the weights were kept in, and others read them so.
    save_model(small_model(), tmp_path, dtype=torch.float32)
    assert json.loads((tmp_path / "config.json").read_text())["torch_dtype"] == "float32"


def test_failed_save_leaves_the_old_model(tmp_path, monkeypatch):
    # A reader could once meet half of a file while the training wrote it.
    save_model(small_model(), tmp_path)
    before = load_file(tmp_path / "model.safetensors")

    def fail(_, path, **__):
        path.write_bytes(b"half")
        raise OSError("No space left on device")

    monkeypatch.setattr(saving, "save_file", fail)
    with pytest.raises(OSError, match="No space"):
        save_model(small_model(), tmp_path)
    torch.testing.assert_close(load_file(tmp_path / "model.safetensors"), before)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", "model.safetensors"]


@pytest.mark.parametrize("family", ["gpt2", "mamba"])
def test_family_that_is_not_written_here_is_refused(family, tmp_path):
    with pytest.raises(ModelError, match=f"must be one .*; got '{family}'"):
        save_model(small_model(), tmp_path, family=family)
    assert list(tmp_path.iterdir()) == []
