"""The Gemma 2 family, held to `transformers`."""

import pytest
from transformers import Gemma2Config

from attention.errors import HeadscopeError
from attention.families.gemma2 import ENTRIES, read_config
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
    "head_dim": 14,
    "max_position_embeddings": 61,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "query_pre_attn_scalar": 7,
    "sliding_window": 4,
}
MAKES = {  # with the window of each layer
    "tight caps, every other layer with a window": (
        {"attn_logit_softcapping": 1.5, "final_logit_softcapping": 0.7, "num_hidden_layers": 3},
        [4, None, 4],
    ),
    "no caps, untied, biases": (
        {
            "attn_logit_softcapping": None,
            "final_logit_softcapping": None,
            "tie_word_embeddings": False,
            "attention_bias": True,
            "num_key_value_heads": 3,
        },
        [4, None],
    ),
    "the usual caps, no window, another scale": (
        {"layer_types": [FULL, FULL], "query_pre_attn_scalar": 33, "hidden_activation": "relu"},
        [None, None],
    ),
    "a window in all layers": (
        {"layer_types": [SLIDING, SLIDING], "sliding_window": 2, "rope_theta": 99.0},
        [2, 2],
    ),
}


@pytest.mark.parametrize("make", MAKES)
def test_it_is_the_same_as_transformers(make, tmp_path):
    entries, windows = MAKES[make]
    theirs = from_config(Gemma2Config(**{**SIZES, **entries}))
    ours = assert_same_as_transformers(theirs, tmp_path)
    count = ours.config.num_layers
    assert [ours.config.attention_of(i).window for i in range(count)] == windows


def test_every_field_is_decided():
    assert_every_field_is_decided(Gemma2Config, ENTRIES)


def test_what_is_left_out_is_not_none():
    given = {k: v for k, v in SIZES.items() if k not in ("sliding_window", "query_pre_attn_scalar")}
    config = read_config(given)
    assert (config.attention.soft_cap, config.logit_cap) == (50.0, 30.0)
    assert (config.layer(0).window, config.layer(0).fixed_scale) == (4096, 1 / 16)
    none = read_config({**SIZES, "attn_logit_softcapping": None, "final_logit_softcapping": None})
    assert (none.attention.soft_cap, none.logit_cap) == (None, None)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"sliding_window": None}, "sliding_window in config.json must be a whole number of at le"),
        ({"attn_logit_softcapping": 0}, "soft_cap must be a number above 0; got 0"),
        ({"final_logit_softcapping": "30"}, "logit_cap must be a number above 0; got '30'"),
        ({"query_pre_attn_scalar": 0}, "query_pre_attn_scalar in config.json must be a number ab"),
        ({"use_bidirectional_attention": True}, "use_bidirectional_attention must be False"),
        ({"layer_types": ["chunked_attention"] * 2}, "layer_types must name full_attention or"),
    ],
)
@pytest.mark.usefixtures("as_in_use")
def test_what_would_make_a_wrong_picture_is_refused_by_name(entries, message):
    with pytest.raises(HeadscopeError, match=message):
        read_config({**SIZES, **entries})
