"""The OPT family, held to `transformers`."""

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import OPTConfig

from attention.errors import HeadscopeError
from attention.families.opt import ENTRIES, FAMILY, read_config
from attention.loading import load_model
from tests.builders import small_model
from tests.families.parity import (
    IDS,
    assert_every_field_is_decided,
    assert_same_as_transformers,
    from_config,
)

SIZES = {
    "vocab_size": 101,
    "hidden_size": 15,
    "ffn_dim": 17,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "max_position_embeddings": 61,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "pad_token_id": 3,  # a token of the text: it is read like any other
}
MAKES = {
    "as OPT-125m": {},
    "as OPT-350m: normed after, embeddings of another width": {
        "do_layer_norm_before": False,
        "word_embed_proj_dim": 11,
        "num_hidden_layers": 3,
    },
    "no biases, norms without weights, untied, gelu": {
        "enable_bias": False,
        "layer_norm_elementwise_affine": False,
        "tie_word_embeddings": False,
        "activation_function": "gelu",
        "hidden_size": 35,
        "num_attention_heads": 5,
    },
    "no last norm, wider embeddings, untied": {
        "_remove_final_layer_norm": True,
        "word_embed_proj_dim": 19,
        "tie_word_embeddings": False,
        "num_attention_heads": 1,
        "num_hidden_layers": 1,
    },
}


@pytest.mark.parametrize("make", MAKES)
def test_it_is_the_same_as_transformers(make, tmp_path):
    assert_same_as_transformers(from_config(OPTConfig(**{**SIZES, **MAKES[make]})), tmp_path)


def test_a_base_model_of_an_older_version_is_opened_too(tmp_path):
    theirs = from_config(OPTConfig(**SIZES))
    theirs.model.save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    assert "decoder.embed_tokens.weight" in tensors
    save_file({**tensors, "decoder.version": torch.ones(1)}, tmp_path / "model.safetensors")
    with torch.no_grad():
        expected = theirs(torch.tensor([IDS])).logits[0]
    torch.testing.assert_close(load_model(str(tmp_path)).run(IDS).logits, expected)


def test_every_field_is_decided():
    assert_every_field_is_decided(OPTConfig, ENTRIES)


@pytest.mark.parametrize("make", MAKES)
def test_every_parameter_has_a_name_of_its_own(make):
    config = read_config({**SIZES, **MAKES[make]})
    names = FAMILY.weights(config)
    assert set(names) == set(small_model(config).state_dict())
    assert len({stored.name for stored in names.values()}) == len(names)


def test_positions_begin_after_those_of_padding():
    config = read_config(SIZES)
    assert (config.positions, config.position_offset, config.context_length) == (63, 2, 61)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"activation_function": "tanh"}, "activation_function must be one of relu, "),
        ({"do_layer_norm_before": "yes"}, "do_layer_norm_before must be one of True, False"),
        ({"word_embed_proj_dim": 0}, "word_embed_proj_dim in config.json must be a whole number"),
        ({"hidden_size": 16}, "hidden_size in config.json must be a multiple of num_attention"),
        ({"ffn_dim": None}, "ffn_dim in config.json must be a whole number of at least 1"),
        ({"quantization_config": {"bits": 4}}, "quantization_config must be left out"),
    ],
)
@pytest.mark.usefixtures("as_in_use")
def test_what_would_make_a_wrong_picture_is_refused_by_name(entries, message):
    with pytest.raises(HeadscopeError, match=message):
        read_config({**SIZES, **entries})
