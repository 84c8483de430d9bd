"""The Qwen3 family, held to `transformers`."""

import pytest
from transformers import Qwen3Config

from attention.errors import HeadscopeError
from attention.families.qwen3 import ENTRIES, read_config
from tests.families.parity import (
    assert_every_field_is_decided,
    assert_same_as_transformers,
    from_config,
)

SIZES = {
    "vocab_size": 101,
    "hidden_size": 30,
    "intermediate_size": 17,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "num_key_value_heads": 1,
    "head_dim": 14,
    "max_position_embeddings": 61,
    "bos_token_id": 0,
    "eos_token_id": 0,
}
MAKES = {
    "heads wider than their share": {},
    "biases, tied, a large epsilon": {
        "attention_bias": True,
        "tie_word_embeddings": True,
        "rms_norm_eps": 0.1,
        "head_dim": 6,
        "num_key_value_heads": 3,
    },
    "a window in the last layer, stretched": {
        "use_sliding_window": True,
        "sliding_window": 4,
        "max_window_layers": 1,
        "rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 99.0},
    },
}


@pytest.mark.parametrize("make", MAKES)
def test_it_is_the_same_as_transformers(make, tmp_path):
    theirs = from_config(Qwen3Config(**{**SIZES, **MAKES[make]}))
    ours = assert_same_as_transformers(theirs, tmp_path)
    assert ours.config.qk_norm


def test_every_field_is_decided():
    assert_every_field_is_decided(Qwen3Config, ENTRIES)


def test_width_of_a_head_that_is_left_out_is_not_its_share():
    assert (
        read_config({k: v for k, v in SIZES.items() if k != "head_dim"}).attention.head_dim == 128
    )


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"head_dim": 13}, "partial_rotary_factor must turn an even number of the 13 features"),
        ({"num_experts": 8}, "num_experts must be 0 to be shown right; got 8"),
        ({"mlp_bias": True}, "mlp_bias must be False to be shown right; got True"),
    ],
)
@pytest.mark.usefixtures("as_in_use")
def test_what_would_make_a_wrong_picture_is_refused_by_name(entries, message):
    with pytest.raises(HeadscopeError, match=message):
        read_config({**SIZES, **entries})
