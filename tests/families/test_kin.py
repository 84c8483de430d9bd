"""What Llama and its kin have in common."""

import pytest
import torch

from attention.families import FAMILIES
from attention.families.llama import read_config
from attention.loading import load_model
from tests.families.parity import IDS, from_config
from tests.families.test_llama import SIZES

KIN = ["llama", "mistral", "qwen2", "qwen3", "smollm3", "gemma", "gemma2", "gemma3_text"]


@pytest.mark.parametrize("tied", [True, False])
def test_files_without_the_outer_name_and_with_what_is_not_needed_are_read(tmp_path, tied):
    from safetensors.torch import load_file, save_file
    from transformers import LlamaConfig

    theirs = from_config(LlamaConfig(**SIZES, tie_word_embeddings=tied))
    theirs.save_pretrained(tmp_path)
    expected = load_model(str(tmp_path)).run(IDS).logits
    file = tmp_path / "model.safetensors"
    state = {name.removeprefix("model."): tensor for name, tensor in load_file(file).items()}
    state["layers.0.self_attn.rotary_emb.inv_freq"] = torch.ones(5)
    state["lm_head.weight"] = state.get("lm_head.weight", state["embed_tokens.weight"]).clone()
    save_file(state, file)
    torch.testing.assert_close(load_model(str(tmp_path)).run(IDS).logits, expected)


@pytest.mark.parametrize("name", KIN)
def test_every_parameter_has_a_place_and_no_place_comes_twice(name):
    from attention.blank import blank_model

    config = FAMILIES[name].read_config({**SIZES, "num_hidden_layers": 7, "num_key_value_heads": 3})
    places = FAMILIES[name].weights(config)
    assert set(places) == set(blank_model(config).state_dict())
    assert len({place.name for place in places.values()}) == len(places)


def test_layers_that_are_alike_are_told_once():
    config = read_config(SIZES)
    assert config.layers == ()
    assert config.rope is not None
