"""The Qwen2 family, held to `transformers`."""

import pytest
from transformers import Qwen2Config

from attention.errors import HeadscopeError
from attention.families.qwen2 import ENTRIES, read_config
from tests.families.parity import (
    assert_every_field_is_decided,
    assert_same_as_transformers,
    from_config,
)

FULL, SLIDING = "full_attention", "sliding_attention"
SIZES = {
    "vocab_size": 101,
    "hidden_size": 30,
    "intermediate_size": 17,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "num_key_value_heads": 1,
    "max_position_embeddings": 61,
    "bos_token_id": 0,
    "eos_token_id": 0,
}
MAKES = {  # with the window of each layer
    "no window, tied": ({"tie_word_embeddings": True, "sliding_window": 3}, [None, None]),
    "a window in the last layers": (
        {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1},
        [None, 4],
    ),
    "a window in the layers that are named": (
        {
            "num_hidden_layers": 3,
            "use_sliding_window": True,
            "sliding_window": 2,
            "layer_types": [SLIDING, FULL, SLIDING],
            "num_key_value_heads": 3,
        },
        [2, None, 2],
    ),
    "stretched": (
        {
            "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 11},
            "rope_theta": 99.0,
            "hidden_act": "gelu_new",
        },
        [None, None],
    ),
}


@pytest.mark.parametrize("make", MAKES)
def test_it_is_the_same_as_transformers(make, tmp_path):
    entries, windows = MAKES[make]
    theirs = from_config(Qwen2Config(**{**SIZES, **entries}))
    ours = assert_same_as_transformers(theirs, tmp_path)
    count = ours.config.num_layers
    assert [ours.config.attention_of(i).window for i in range(count)] == windows


def test_every_field_is_decided():
    assert_every_field_is_decided(Qwen2Config, ENTRIES)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"layer_types": [FULL]}, "layer_types must name full_attention or sliding_attention for "),
        ({"layer_types": [FULL, "linear_attention"]}, "layer_types must name full_attention or"),
        ({"layer_types": 2}, "layer_types must name full_attention or sliding_attention for each "),
        ({"layer_types": [FULL, SLIDING]}, "sliding_window in config.json must be a whole number"),
        ({"max_window_layers": "all"}, "max_window_layers must be a whole number; got 'all'"),
        ({"attention_bias": True}, "attention_bias must be False to be shown right; got True"),
        (
            {"rope_scaling": {"type": "mrope", "mrope_section": [1, 2]}},
            "mrope_section must be left",
        ),
        (
            {"rope_parameters": {FULL: {"rope_theta": 3.0}}},
            "full_attention must be left out of rope_parameters",
        ),
    ],
)
@pytest.mark.usefixtures("as_in_use")
def test_what_would_make_a_wrong_picture_is_refused_by_name(entries, message):
    with pytest.raises(HeadscopeError, match=message):
        read_config({**SIZES, **entries})
