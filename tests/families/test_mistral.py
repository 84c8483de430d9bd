"""The Mistral family, held to `transformers`."""

import pytest
import torch
from transformers import MistralConfig

from attention.errors import HeadscopeError
from attention.families.mistral import ENTRIES, read_config
from tests.families.parity import (
    IDS,
    NUM_TOKENS,
    assert_every_field_is_decided,
    assert_same_as_transformers,
    assert_writes,
    from_config,
)

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
MAKES = {
    "a window shorter than the text": {"sliding_window": 5},
    "a window of two, heads wider than their share, tied": {
        "sliding_window": 2,
        "head_dim": 14,
        "tie_word_embeddings": True,
        "num_key_value_heads": 3,
    },
    "a window longer than the text, filled by what is written": {
        "sliding_window": 14,
        "rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 99.0},
    },
    "no window": {"sliding_window": None, "hidden_act": "relu", "num_hidden_layers": 3},
}


@pytest.mark.parametrize("make", MAKES)
def test_it_is_the_same_as_transformers(make, tmp_path):
    given = {**SIZES, **MAKES[make]}
    ours = assert_same_as_transformers(from_config(MistralConfig(**given)), tmp_path)
    assert ours.config.attention.window == given["sliding_window"]


def test_every_field_is_decided():
    assert_every_field_is_decided(MistralConfig, ENTRIES)


def test_window_that_is_left_out_is_not_none():
    assert read_config(SIZES).attention.window == 4096
    assert read_config({**SIZES, "sliding_window": None}).attention.window is None


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"sliding_window": 0}, "sliding_window in config.json must be a whole number of at least"),
        ({"layer_types": ["sliding_attention"] * 2}, "layer_types must be left out"),
        ({"attention_bias": True}, "attention_bias must be False to be shown right; got True"),
        ({"hidden_size": 31}, "hidden_size in config.json must be a multiple of num_attention_h"),
        ({"num_key_value_heads": 2}, "num_kv_heads must divide num_heads; got 2 kv heads for 3"),
    ],
)
@pytest.mark.usefixtures("as_in_use")
def test_what_would_make_a_wrong_picture_is_refused_by_name(entries, message):
    with pytest.raises(HeadscopeError, match=message):
        read_config({**SIZES, **entries})


def test_window_of_one_writes_what_transformers_writes_without_its_cache(tmp_path):
    # Its cache (5.24) keeps every key of such a layer.
    theirs = from_config(MistralConfig(**{**SIZES, "sliding_window": 1}))
    ours = assert_same_as_transformers(theirs, tmp_path, num_tokens=1)
    text = torch.tensor([IDS])
    written = theirs.generate(
        text,
        attention_mask=torch.ones_like(text),
        max_new_tokens=NUM_TOKENS,
        do_sample=False,
        use_cache=False,
        eos_token_id=None,
        pad_token_id=0,
    )
    assert_writes(ours, IDS, written[0].tolist())
