import json

import pytest
import torch

from attention.errors import ConfigError, ModelError
from attention.families import FAMILIES, attention_only, llama
from attention.families.attention_only import read_config, weights, write_config
from attention.loading import load_model, save_model
from tests.builders import model_config, small_model

IDS = [0, 7, 1, 2, 3, 1, 2, 3, 5, 11, 13]
NAME = attention_only.NAME


@pytest.fixture(params=[False, True], ids=["without biases", "with biases"])
def config(request):
    return model_config(d_mlp=None, qkv_bias=request.param)


def test_config_comes_back_as_it_was(config):
    assert read_config(json.loads(json.dumps(write_config(config)))) == config


def test_every_parameter_has_its_own_name(config):
    assert list(weights(config)) == [stored.name for stored in weights(config).values()]
    assert set(weights(config)) == set(small_model(config).state_dict())


def test_model_comes_back_from_its_folder(config, tmp_path):
    model = small_model(config)
    save_model(model, tmp_path, family=NAME, dtype=torch.float32)
    expected, found = model.run(IDS), load_model(str(tmp_path)).run(IDS)
    torch.testing.assert_close(found.logits, expected.logits, rtol=0, atol=0)


def test_one_of_several_files_is_opened_by_its_name(config, tmp_path):
    for seed in (1, 2):
        model = small_model(config, seed=seed)
        save_model(model, tmp_path, family=NAME, weights=f"{seed}.safetensors")
    found = load_model(str(tmp_path), weights="1.safetensors").embed.weight
    expected = small_model(config, seed=1).embed.weight.half().float()
    torch.testing.assert_close(found, expected, rtol=0, atol=0)
    with pytest.raises(ModelError, match=r"must hold 3\.safetensors; it does not"):
        load_model(str(tmp_path), weights="3.safetensors")


@pytest.mark.parametrize("name", attention_only.SIZES)
def test_missing_size_is_refused_by_name(config, name):
    written = write_config(config)
    del written[name]
    with pytest.raises(ConfigError, match=f"{name} in config.json must be a whole number"):
        read_config(written)


def test_unknown_entry_is_refused(config):
    with pytest.raises(ModelError, match="must not hold d_mlp"):
        read_config({**write_config(config), "d_mlp": 17})


def test_model_with_an_mlp_or_shared_heads_is_refused():
    for other in (model_config(), model_config(d_mlp=None, num_kv_heads=1)):
        with pytest.raises(ModelError, match="must have no MLP and a key head"):
            write_config(other)


def test_llama_has_no_model_without_an_mlp(config):
    with pytest.raises(ModelError, match="d_mlp of a Llama model must be a number; got None"):
        llama.write_config(config)


def test_it_is_in_the_table():
    assert FAMILIES[NAME].read_config is read_config
