"""The GPT-NeoX family, held to `transformers`."""

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import GPTNeoXConfig

from attention.errors import HeadscopeError
from attention.families.gpt_neox import ENTRIES, of_each_head, read_config
from attention.loading import load_model
from tests.families.parity import (
    IDS,
    assert_every_field_is_decided,
    assert_same_as_transformers,
    from_config,
)

SIZES = {
    "vocab_size": 101,
    "hidden_size": 42,
    "intermediate_size": 17,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "max_position_embeddings": 61,
    "bos_token_id": 0,
    "eos_token_id": 0,
}
MAKES = {
    "as Pythia": {"rope_parameters": {"rope_theta": 10_000, "partial_rotary_factor": 0.29}},
    "one after the other, no biases, tied": {
        "use_parallel_residual": False,
        "attention_bias": False,
        "tie_word_embeddings": True,
        "num_hidden_layers": 3,
        "hidden_act": "relu",
        "rope_parameters": {"rope_theta": 500.0, "partial_rotary_factor": 1.0},
    },
    "longer texts than in training": {
        "max_position_embeddings": 7,  # below the length of the text: the base grows with it
        "rope_parameters": {
            "rope_type": "dynamic",
            "factor": 5.0,
            "rope_theta": 100.0,
            "partial_rotary_factor": 0.43,
        },
    },
    "most turned, another epsilon, no biases": {
        "hidden_size": 50,
        "num_attention_heads": 5,
        "layer_norm_eps": 0.1,
        "attention_bias": False,
        "hidden_act": "gelu_new",
        "rope_parameters": {"rope_theta": 100.0, "partial_rotary_factor": 0.61},
    },
}


@pytest.mark.parametrize("make", MAKES)
def test_it_is_the_same_as_transformers(make, tmp_path):
    config = GPTNeoXConfig(**{**SIZES, **MAKES[make]})
    assert_same_as_transformers(from_config(config), tmp_path)


def test_its_read_out_may_have_another_name_and_masks_may_be_there(tmp_path):
    theirs = from_config(GPTNeoXConfig(**SIZES, **MAKES["as Pythia"]))
    theirs.save_pretrained(tmp_path)
    path = tmp_path / "model.safetensors"
    tensors = load_file(path)
    tensors["lm_head.weight"] = tensors.pop("embed_out.weight")
    for layer in range(2):  # masks that older versions saved
        tensors[f"gpt_neox.layers.{layer}.attention.bias"] = torch.ones(1, 1, 61, 61).tril().bool()
        tensors[f"gpt_neox.layers.{layer}.attention.masked_bias"] = torch.tensor(-1e9)
        tensors[f"gpt_neox.layers.{layer}.attention.rotary_emb.inv_freq"] = torch.ones(7)
    save_file(tensors, path)
    with torch.no_grad():
        expected = theirs(torch.tensor([IDS])).logits[0]
    torch.testing.assert_close(load_model(str(tmp_path)).run(IDS).logits, expected)


def test_every_field_is_decided():
    assert_every_field_is_decided(GPTNeoXConfig, ENTRIES)


def test_the_entries_of_older_configs_are_read():
    config = read_config(
        {**SIZES, "rotary_emb_base": 500, "rotary_pct": 0.43, "rope_scaling": None}
    )
    assert config.rope_theta == 500
    assert config.rope.rotary_dim == 6  # of 14
    assert read_config({**SIZES, "hidden_size": 48}).rope.rotary_dim == 4  # a quarter of 16


def test_the_rows_of_each_head_are_its_own():
    fused = torch.arange(2 * 3 * 2.0)  # 2 heads, each with 2 rows of q, of k, of v
    torch.testing.assert_close(of_each_head(0, 2, fused), torch.tensor([0.0, 1, 6, 7]))
    torch.testing.assert_close(of_each_head(2, 2, fused), torch.tensor([4.0, 5, 10, 11]))
    matrix = torch.stack([fused, -fused], dim=1)
    torch.testing.assert_close(of_each_head(1, 2, matrix)[:, 1], -torch.tensor([2.0, 3, 8, 9]))


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"hidden_act": "mish"}, "hidden_act must be one of gelu, "),
        ({"attention_bias": "no"}, "attention_bias must be one of True, False"),
        ({"hidden_size": 43}, "hidden_size in config.json must be a multiple of num_attention"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor must be 1.0 to be shown right"),
        ({"intermediate_size": None}, "intermediate_size in config.json must be a whole number"),
    ],
)
@pytest.mark.usefixtures("as_in_use")
def test_what_would_make_a_wrong_picture_is_refused_by_name(entries, message):
    with pytest.raises(HeadscopeError, match=message):
        read_config({**SIZES, **entries})
