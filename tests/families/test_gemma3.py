"""The Gemma 3 family, held to `transformers`."""

import pytest
from transformers import Gemma3TextConfig

from attention.errors import HeadscopeError
from attention.families.gemma3 import ENTRIES, read_config
from attention.rope_scaling import Linear
from attention.rotary import Rope
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
    "sliding_window_pattern": 2,
}
LOCAL, GLOBAL = Rope(theta=77.0), Rope(theta=999.0, scaling=Linear(factor=8.0))
OLD = {
    "rope_theta": 999.0,
    "rope_local_base_freq": 77.0,
    "rope_scaling": {"rope_type": "linear", "factor": 8.0},
}
NEW = {
    "rope_parameters": {
        FULL: {"rope_type": "linear", "factor": 8.0, "rope_theta": 999.0},
        SLIDING: {"rope_type": "default", "rope_theta": 77.0},
    }
}
MAKES = {  # with what turns each layer
    "local and global bases, the global one stretched": (
        {**OLD, "num_hidden_layers": 3},
        [LOCAL, GLOBAL, LOCAL],
    ),
    "the same, as new files tell it; capped logits, untied, biases": (
        {
            **NEW,
            "final_logit_softcapping": 0.7,
            "tie_word_embeddings": False,
            "attention_bias": True,
            "layer_types": [FULL, SLIDING],
            "num_key_value_heads": 3,
        },
        [GLOBAL, LOCAL],
    ),
    "the usual bases, no window, a large epsilon": (
        {"layer_types": [FULL, FULL], "rms_norm_eps": 0.1, "hidden_activation": "gelu"},
        [Rope(theta=1_000_000.0)] * 2,
    ),
}


@pytest.mark.parametrize("make", MAKES)
def test_it_is_the_same_as_transformers(make, tmp_path):
    entries, ropes = MAKES[make]
    theirs = from_config(Gemma3TextConfig(**{**SIZES, **entries}))
    config = assert_same_as_transformers(theirs, tmp_path).config
    assert [config.layer(i).rope for i in range(config.num_layers)] == ropes


def test_every_field_is_decided():
    assert_every_field_is_decided(Gemma3TextConfig, ENTRIES)


@pytest.mark.parametrize("entries", [OLD, NEW], ids=["old", "new"])
def test_layers_are_told_in_old_files_and_new(entries):
    config = read_config({**SIZES, **entries})
    assert [rule.rope for rule in config.layers] == [LOCAL, GLOBAL]
    assert [rule.window for rule in config.layers] == [4, None]


def test_sixth_layers_see_the_whole_text_where_nothing_is_told():
    config = read_config({"num_hidden_layers": 12})
    assert [i for i, rule in enumerate(config.layers) if rule.window is None] == [5, 11]
    assert config.layers[0].window == 4096
    assert config.vocab_size == 262_208


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"attn_logit_softcapping": 50.0}, "attn_logit_softcapping must be left out to be shown"),
        ({"rope_parameters": {"rope_theta": 3.0}}, "rope_parameters must hold full_attention and"),
        ({"rope_parameters": {FULL: 3}}, "rope_parameters must be an object; got 3"),
        ({"rope_scaling": {"rope_type": "longrope"}}, "rope_type must be one of default"),
        ({"rope_local_base_freq": 0}, "rope_local_base_freq in config.json must be a number above"),
        ({"sliding_window_pattern": 0}, "sliding_window_pattern in config.json must be a whole"),
        ({"sliding_window": None}, "sliding_window in config.json must be a whole number of at le"),
        ({"use_bidirectional_attention": True}, "use_bidirectional_attention must be False"),
    ],
)
@pytest.mark.usefixtures("as_in_use")
def test_what_would_make_a_wrong_picture_is_refused_by_name(entries, message):
    with pytest.raises(HeadscopeError, match=message):
        read_config({**SIZES, **entries})
