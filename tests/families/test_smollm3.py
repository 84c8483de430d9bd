"""The SmolLM3 family, held to `transformers`."""

import pytest
from transformers import SmolLM3Config

from attention.errors import HeadscopeError
from attention.families.smollm3 import ENTRIES, THETA, read_config
from tests.families.parity import (
    assert_every_field_is_decided,
    assert_same_as_transformers,
    from_config,
)

SIZES = {
    "vocab_size": 101,
    "hidden_size": 30,
    "intermediate_size": 17,
    "num_hidden_layers": 3,
    "num_attention_heads": 3,
    "num_key_value_heads": 1,
    "max_position_embeddings": 61,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "pad_token_id": 0,
}
MAKES = {  # with which layers turn q and k, and their windows
    "every other layer turns nothing": (
        {"no_rope_layer_interval": 2},
        [True, False, True],
        [None] * 3,
    ),
    "the layers that are told turn nothing, untied, biases": (
        {
            "no_rope_layers": [0, 1, 0, 1],
            "tie_word_embeddings": False,
            "attention_bias": True,
            "mlp_bias": True,
        },
        [False, True, False],
        [None] * 3,
    ),
    "a window where nothing is turned": (
        {"no_rope_layer_interval": 3, "use_sliding_window": True, "sliding_window": 4},
        [True, True, False],
        [None, None, 4],
    ),
    "a window in the layers that are named, heads wider than their share": (
        {
            "no_rope_layers": [1, 1, 1],
            "use_sliding_window": True,
            "sliding_window": 3,
            "layer_types": ["sliding_attention", "full_attention", "full_attention"],
            "head_dim": 14,
            "rope_theta": 99.0,
        },
        [True] * 3,
        [3, None, None],
    ),
}


@pytest.mark.parametrize("make", MAKES)
def test_it_is_the_same_as_transformers(make, tmp_path):
    entries, turned, windows = MAKES[make]
    theirs = from_config(SmolLM3Config(**{**SIZES, **entries}))
    config = assert_same_as_transformers(theirs, tmp_path).config
    rules = [config.layer(i) for i in range(config.num_layers)]
    assert [rule.rope is not None for rule in rules] == turned
    assert [rule.window for rule in rules] == windows


def test_every_field_is_decided():
    assert_every_field_is_decided(SmolLM3Config, ENTRIES)


def test_base_that_is_left_out_is_its_own():
    config = read_config({**SIZES, "no_rope_layers": [1, 1, 1]})
    assert (config.rope_theta, config.layers) == (THETA, ())


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"no_rope_layers": [1, 0]}, "no_rope_layers must be 0 or 1 for each of 3 layers; got"),
        ({"no_rope_layers": [1, 2, 0]}, "no_rope_layers must be 0 or 1 for each of 3 layers"),
        ({"no_rope_layer_interval": 0}, "no_rope_layer_interval in config.json must be a whole"),
        ({"layer_types": ["sliding_attention"] * 3}, "sliding_window in config.json must be a who"),
        ({"rope_scaling": {"type": "su"}}, "rope_type must be one of default, .*; got 'su'"),
    ],
)
@pytest.mark.usefixtures("as_in_use")
def test_what_would_make_a_wrong_picture_is_refused_by_name(entries, message):
    with pytest.raises(HeadscopeError, match=message):
        read_config({**SIZES, **entries})
