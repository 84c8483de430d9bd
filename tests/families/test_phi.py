"""The Phi family, held to `transformers`."""

import pytest
from transformers import PhiConfig

from attention.errors import HeadscopeError
from attention.families.phi import ENTRIES, FAMILY, read_config
from attention.rotary import Rope
from tests.builders import small_model
from tests.families.parity import (
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
    "as phi-2": {"partial_rotary_factor": 0.43},
    "shared kv heads, all turned, exact gelu": {
        "hidden_size": 54,
        "num_attention_heads": 9,
        "num_key_value_heads": 3,
        "partial_rotary_factor": 1.0,
        "hidden_act": "gelu",
        "num_hidden_layers": 3,
    },
    "q and k normed, another epsilon and base": {
        "qk_layernorm": True,
        "layer_norm_eps": 0.1,
        "rope_parameters": {"rope_theta": 100.0, "partial_rotary_factor": 0.3},
    },
    "longer texts than in training": {
        "max_position_embeddings": 21,
        "rope_parameters": {
            "rope_type": "yarn",
            "factor": 3.0,
            "rope_theta": 100.0,
            "partial_rotary_factor": 0.43,
            "original_max_position_embeddings": 7,
        },
    },
    "one kv head, heads wider than their share": {
        "num_key_value_heads": 1,
        "head_dim": 22,
        "partial_rotary_factor": 0.55,
    },
}


@pytest.mark.parametrize("make", MAKES)
def test_it_is_the_same_as_transformers(make, tmp_path):
    assert_same_as_transformers(from_config(PhiConfig(**{**SIZES, **MAKES[make]})), tmp_path)


def test_every_field_is_decided():
    assert_every_field_is_decided(PhiConfig, ENTRIES)


def test_the_entries_of_older_configs_are_read():
    older = {"rope_theta": 500.0, "partial_rotary_factor": 0.43, "rope_scaling": None}
    assert read_config({**SIZES, **older}).rope == Rope(theta=500.0, rotary_dim=6)
    nothing_said = {**SIZES, "hidden_size": 60, "num_key_value_heads": None}
    assert read_config(nothing_said).rope == Rope(rotary_dim=10)
    assert read_config(nothing_said).attention.num_kv_heads == 3


@pytest.mark.parametrize("qk_layernorm", [False, True])
def test_every_parameter_has_a_name_of_its_own(qk_layernorm):
    config = read_config({**SIZES, "partial_rotary_factor": 1, "qk_layernorm": qk_layernorm})
    names = FAMILY.weights(config)
    assert set(names) == set(small_model(config).state_dict())
    assert len({stored.name for stored in names.values()}) == len(names)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"tie_word_embeddings": True}, "tie_word_embeddings must be False to be shown right"),
        ({"hidden_act": "mish"}, "hidden_act must be one of gelu_new, "),
        (
            {"partial_rotary_factor": 0.5},
            "partial_rotary_factor must turn an even number of",
        ),
        ({"num_key_value_heads": 2}, "num_kv_heads must divide num_heads"),
        ({"layer_norm_eps": -1}, "layer_norm_eps in config.json must be a number above 0"),
        ({"hidden_size": 43}, "hidden_size in config.json must be a multiple of num_attention"),
    ],
)
@pytest.mark.usefixtures("as_in_use")
def test_what_would_make_a_wrong_picture_is_refused_by_name(entries, message):
    with pytest.raises(HeadscopeError, match=message):
        read_config({**SIZES, "partial_rotary_factor": 1.0, **entries})
