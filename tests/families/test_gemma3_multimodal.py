"""The Gemma 3 models that read images too, held to `transformers` on texts."""

import pytest
from transformers import Gemma3Config

from attention.errors import ModelError
from attention.families.gemma3_multimodal import read_config
from tests.families.parity import assert_same_as_transformers, from_config
from tests.families.test_gemma3 import OLD, SIZES

VISION = {
    "hidden_size": 10,
    "intermediate_size": 7,
    "num_hidden_layers": 1,
    "num_attention_heads": 1,
    "image_size": 28,
    "patch_size": 14,
}
IMAGES = {"mm_tokens_per_image": 4, "image_token_index": 99, "boi_token_index": 98}
MAKES = {
    "local and global bases": OLD,
    "biases, a kv head for each": {
        "attention_bias": True,
        "num_key_value_heads": 3,
    },
    "no window": {"layer_types": ["full_attention"] * 2},
}


@pytest.mark.parametrize("make", MAKES)
def test_it_is_the_same_as_transformers_on_a_text(make, tmp_path):
    config = Gemma3Config(
        text_config={**SIZES, **MAKES[make]}, vision_config=VISION, eoi_token_index=96, **IMAGES
    )
    assert_same_as_transformers(from_config(config), tmp_path)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "text_config in config.json must be an object; got None"),
        ({"text_config": SIZES, "tie_word_embeddings": False}, "tie_word_embeddings must be True"),
        ({"text_config": {**SIZES, "tie_word_embeddings": False}}, "tie_word_embeddings must be T"),
        (
            {"text_config": {**SIZES, "final_logit_softcapping": 3.0}},
            "final_logit_softcapping must",
        ),
        ({"text_config": {**SIZES, "use_bidirectional_attention": True}}, "use_bidirectional_att"),
    ],
)
@pytest.mark.usefixtures("as_in_use")
def test_what_would_make_a_wrong_picture_is_refused_by_name(config, message):
    with pytest.raises(ModelError, match=message):
        read_config(config)
