"""The Gemma family, the first, held to `transformers`."""

import pytest
import torch
from transformers import GemmaConfig

from attention.errors import HeadscopeError
from attention.families.gemma import ENTRIES, read_config
from attention.families.kin import plus_one
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
    "as it comes": {},
    "biases, untied, as the first files call the activation": {
        "attention_bias": True,
        "tie_word_embeddings": False,
        "hidden_act": "gelu",
        "num_key_value_heads": 3,
    },
    "another base, epsilon and activation": {
        "rope_theta": 99.0,
        "rms_norm_eps": 0.1,
        "hidden_act": "silu",
        "head_dim": 6,
    },
}


@pytest.mark.parametrize("make", MAKES)
def test_it_is_the_same_as_transformers(make, tmp_path):
    theirs = from_config(GemmaConfig(**{**SIZES, **MAKES[make]}))
    assert_same_as_transformers(theirs, tmp_path)


def test_every_field_is_decided():
    assert_every_field_is_decided(GemmaConfig, ENTRIES)


def test_first_files_mean_the_approximation():
    given = {**SIZES, "hidden_act": "gelu", "hidden_activation": None}
    assert read_config(given).activation == "gelu_tanh"


def test_one_is_added_before_rounding():
    # In bfloat16 1 + 0.003 is 1.
    narrow = torch.tensor([0.003, -0.003], dtype=torch.bfloat16)
    torch.testing.assert_close(plus_one(narrow), 1 + narrow.float())


@pytest.mark.usefixtures("as_in_use")
def test_text_that_is_read_both_ways_is_refused():
    with pytest.raises(HeadscopeError, match="use_bidirectional_attention must be False to be"):
        read_config({**SIZES, "use_bidirectional_attention": True})
