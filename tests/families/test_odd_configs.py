"""Whatever stands in a config.json, the answer is a config or one sentence."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention.errors import LARGEST, HeadscopeError
from attention.families import FAMILIES, attention_only, gemma3_multimodal
from attention.families.entries import NEUTRAL
from attention.model_config import ModelConfig
from tests.families import test_book, test_gpt2, test_gpt_neox, test_nanogpt, test_opt, test_phi

SIZES = {
    "gpt2": test_gpt2.SIZES,
    "nanogpt": test_nanogpt.ARGS,
    "book-gpt": test_book.CONFIG,
    "gpt_neox": {**test_gpt_neox.SIZES, "rotary_pct": 1.0},
    "phi": {**test_phi.SIZES, "partial_rotary_factor": 1.0},
    "opt": test_opt.SIZES,
    attention_only.NAME: dict.fromkeys(attention_only.SIZES, 2),
}
LLAMA = {
    "vocab_size": 101,
    "hidden_size": 42,
    "intermediate_size": 17,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "num_key_value_heads": 1,
    "max_position_embeddings": 61,
}
ENTRIES = sorted(
    {*NEUTRAL, *(name for sizes in SIZES.values() for name in sizes), *LLAMA}
    | {"activation_function", "hidden_act", "bias", "enable_bias", "head_dim", "n_inner"}
    | {"num_key_value_heads", "tie_word_embeddings", "layer_norm_eps", "rms_norm_eps"}
    | {"rope_theta", "rope_parameters", "layer_types", "no_rope_layers", "word_embed_proj_dim"}
)
NUMBERS = st.sampled_from([0, 1, -1, 3, 10**30, 10**400, 0.5, 1e-300, float("inf"), float("nan")])
PLAIN = st.none() | st.booleans() | NUMBERS | st.text(max_size=3)
ROPE = st.dictionaries(
    st.sampled_from(["rope_type", "type", "rope_theta", "factor", "partial_rotary_factor"]),
    st.sampled_from(["linear", "dynamic", "yarn", "llama3", ["x"], {}]) | PLAIN,
    max_size=4,
)
LISTS = st.lists(PLAIN | st.just([1]) | st.just({}), max_size=3)
VALUES = PLAIN | LISTS | ROPE


def config_of(name, changes=None):
    """A plain config of a family with these entries changed, in the part that reads text too."""
    plain = {**SIZES.get(name, LLAMA), **(changes or {})}
    return {**plain, "text_config": plain} if name == gemma3_multimodal.FAMILY.name else plain


@pytest.mark.usefixtures("as_in_use")
@pytest.mark.parametrize("name", FAMILIES)
@settings(max_examples=60)
@given(changes=st.dictionaries(st.sampled_from(ENTRIES), VALUES, min_size=1, max_size=3))
def test_a_config_is_read_or_refused_in_a_sentence(name, changes):
    with contextlib.suppress(HeadscopeError):
        assert isinstance(FAMILIES[name].read_config(config_of(name, changes)), ModelConfig)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_config_that_is_changed_is_itself_read(name):
    assert FAMILIES[name].read_config(config_of(name)).num_layers == 2


def refusal(name, changes):
    """What is said against a config; empty where it is read."""
    try:
        FAMILIES[name].read_config(config_of(name, changes))
    except HeadscopeError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", FAMILIES)
def test_size_that_no_machine_has_is_refused(name):
    # torch counts up to 2**63: such a model broke down when it was put together.
    numbers = {key for key, value in config_of(name).items() if type(value) is int and value > 1}
    sizes = {key for key in numbers if not key.endswith("_id")}
    assert sizes
    assert {size for size in sizes if not refusal(name, {size: 1 << 62})} == set()


@pytest.mark.usefixtures("as_in_use")
@pytest.mark.parametrize("value", ["x" * 9_000, [0] * 9_000, {"a": [0] * 9_000}])
def test_long_entry_is_not_read_out(value):
    assert max(len(refusal("llama", {entry: value})) for entry in ENTRIES) < 400


def test_stretching_without_end_is_read_or_refused():
    rope = {"rope_type": "yarn", "factor": 1e308, "original_max_position_embeddings": 16}
    config = FAMILIES["llama"].read_config(config_of("llama", {"rope_parameters": rope}))
    assert config.context_length == LARGEST
