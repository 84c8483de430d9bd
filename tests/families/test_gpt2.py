"""The GPT-2 family, held to `transformers`."""

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import GPT2Config

from attention.errors import HeadscopeError
from attention.families.gpt2 import ENTRIES, FAMILY, read_config, third
from attention.loading import load_model
from tests.families.parity import (
    IDS,
    assert_every_field_is_decided,
    assert_same_as_transformers,
    from_config,
)

SIZES = {
    "vocab_size": 101,
    "n_positions": 61,
    "n_embd": 15,
    "n_layer": 2,
    "n_head": 3,
    "bos_token_id": 0,
    "eos_token_id": 0,
}
MAKES = {
    "as it comes": {},
    "scaled by layer, n_inner, untied, exact gelu": {
        "scale_attn_by_inverse_layer_idx": True,
        "n_inner": 17,
        "tie_word_embeddings": False,
        "activation_function": "gelu",
        "n_layer": 3,
    },
    "unscaled scores, upcast, relu, another epsilon": {
        "scale_attn_weights": False,
        "reorder_and_upcast_attn": True,
        "activation_function": "relu",
        "layer_norm_epsilon": 0.1,
        "n_embd": 35,
        "n_head": 5,
    },
    "unscaled scores by layer, quick gelu, one head": {
        "scale_attn_weights": False,
        "scale_attn_by_inverse_layer_idx": True,
        "activation_function": "quick_gelu",
        "n_head": 1,
        "n_embd": 13,
    },
}


@pytest.mark.parametrize("make", MAKES)
def test_it_is_the_same_as_transformers(make, tmp_path):
    assert_same_as_transformers(from_config(GPT2Config(**{**SIZES, **MAKES[make]})), tmp_path)


def test_every_field_is_decided():
    assert_every_field_is_decided(GPT2Config, ENTRIES)


def test_a_config_of_before_those_entries_is_read():
    old = {"vocab_size": 101, "n_ctx": 61, "n_embd": 15, "n_layer": 2, "n_head": 3}
    config = read_config({"model_type": "gpt2", "_num_labels": 1, **old})
    assert (config.context_length, config.positions, config.d_mlp) == (61, 61, 60)
    assert (config.activation, config.tied, config.layers) == ("gelu_tanh", True, ())
    assert config.bos_token_id is None


def test_a_factor_a_layer_is_what_the_config_asks_for():
    deeper = read_config({**SIZES, "scale_attn_by_inverse_layer_idx": True})
    torch.testing.assert_close(
        [deeper.attention_of(i).scale for i in (0, 1)], [5**-0.5, 5**-0.5 / 2]
    )
    assert read_config({**SIZES, "scale_attn_weights": False}).attention_of(1).scale == 1.0


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"add_cross_attention": True}, "add_cross_attention must be False to be shown right"),
        ({"activation_function": "mish"}, "activation_function must be one of gelu_new, gelu, "),
        ({"layer_norm_epsilon": 0}, "layer_norm_epsilon in config.json must be a number above 0"),
        ({"tie_word_embeddings": "no"}, "tie_word_embeddings must be one of True, False"),
        ({"n_embd": 16}, "n_embd in config.json must be a multiple of n_head; got 16 and 3"),
        (
            {"scale_attn_by_inverse_layer_idx": True, "n_layer": 10**12},
            "layers must be at most 10000 where they differ; got 1000000000000",
        ),
        ({"n_head": None}, "n_head in config.json must be a whole number of at least 1; got 0"),
        ({"n_inner": 0}, "n_inner in config.json must be a whole number of at least 1; got 0"),
        ({"pruned_heads": {"0": [1]}}, "pruned_heads must be {} to be shown right"),
        ({"quantization_config": {"bits": 4}}, "quantization_config must be left out"),
        ({"alibi": True}, "alibi must be False to be shown right; got True"),
    ],
)
@pytest.mark.usefixtures("as_in_use")
def test_what_would_make_a_wrong_picture_is_refused_by_name(entries, message):
    with pytest.raises(HeadscopeError, match=message):
        read_config({**SIZES, **entries})


def test_a_part_of_the_fused_matrix_is_turned_round():
    fused = torch.arange(2 * 9.0).view(2, 9)  # in, out of q, k and v
    torch.testing.assert_close(third(1, fused), torch.tensor([[3.0, 12], [4, 13], [5, 14]]))
    torch.testing.assert_close(third(2, fused[0]), torch.tensor([6.0, 7, 8]))


def test_names_are_found_with_the_prefix_and_without():
    config = read_config(SIZES)
    whole = {stored.name for stored in FAMILY.weights(config).values()}
    short = {name.removeprefix("transformer.") for name in whole}
    for there, expected in ((whole, whole), (short, short), (set(), whole)):
        assert {stored.name for stored in FAMILY.stored(config, there).values()} == expected


def test_a_base_model_with_masks_is_opened_too(tmp_path):
    theirs = from_config(GPT2Config(**SIZES))
    theirs.transformer.save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    assert "wte.weight" in tensors
    for layer in range(2):  # as older versions saved
        tensors[f"h.{layer}.attn.bias"] = torch.ones(1, 1, 61, 61).tril()
        tensors[f"h.{layer}.attn.masked_bias"] = torch.tensor(-1e4)
    save_file(tensors, tmp_path / "model.safetensors")
    with torch.no_grad():
        expected = theirs(torch.tensor([IDS])).logits[0]
    torch.testing.assert_close(load_model(str(tmp_path)).run(IDS).logits, expected)
