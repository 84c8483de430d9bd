"""The Llama format, held to `transformers` both ways."""

from dataclasses import replace

import pytest
import torch

from attention.errors import HeadscopeError, ModelError
from attention.families import FAMILIES, find_family
from attention.families.kin import weights
from attention.families.llama import ENTRIES, read_config, write_config
from attention.loading import save_model
from attention.rope_scaling import Linear
from attention.rotary import Rope
from tests.builders import model_config, small_model
from tests.families.parity import (
    IDS,
    assert_every_field_is_decided,
    assert_same_as_transformers,
    from_config,
)

CONFIGS = {
    "every head its own kv head": model_config(),
    "biases": model_config(qkv_bias=True),
    # transformers wants d_model to be a multiple of the heads, whatever head_dim says.
    "9 heads on 3 kv heads": model_config(num_heads=9, num_kv_heads=3, d_model=45),
}
NUMBERS = write_config(model_config())


@pytest.fixture(params=CONFIGS.values(), ids=CONFIGS)
def config(request):
    return request.param


# ------------------------------------------------------------------ the config


def test_config_comes_back_as_it_was(config):
    assert read_config(write_config(config)) == config


def test_head_dim_and_kv_heads_have_defaults():
    given = {k: v for k, v in NUMBERS.items() if k not in ("head_dim", "num_key_value_heads")}
    attention = read_config({**given, "hidden_size": 30}).attention
    assert (attention.head_dim, attention.num_kv_heads) == (10, 3)


@pytest.mark.parametrize(
    "entries",
    [
        {"rope_theta": 500.0},
        {"rope_theta": 1.0, "rope_parameters": {"rope_theta": 500.0, "rope_type": "default"}},
    ],
)
def test_base_of_the_wavelengths_is_read_from_both_places(entries):
    assert read_config({**NUMBERS, **entries}).rope_theta == 500.0


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("sliding_window", 128),
        ("hidden_act", "mish"),
        ("partial_rotary_factor", 0.5),
        ("attention_bias", "no"),
        ("mlp_bias", 2),
        ("tie_word_embeddings", "no"),
        ("layer_types", ["full_attention", "sliding_attention"]),
        ("num_local_experts", 8),
        ("quantization_config", {"bits": 4}),
        ("attention_multiplier", 0.5),
    ],
)
def test_option_that_would_make_a_wrong_picture_is_refused_by_name(option, value):
    with pytest.raises(ModelError, match=f"{option} must be .* to be shown right; got"):
        read_config({**NUMBERS, option: value})


@pytest.mark.parametrize("kind", ["longrope", "su", "proportional", "mrope"])
@pytest.mark.parametrize("names", [("rope_scaling", "type"), ("rope_parameters", "rope_type")])
def test_stretching_that_is_not_known_is_refused_by_name(kind, names):
    scaled = {names[0]: {names[1]: kind, "factor": 2.0}}
    with pytest.raises(ModelError, match=rf"rope_type must be one of default, .* got '{kind}'"):
        read_config({**NUMBERS, **scaled})


def test_some_features_of_a_head_turned_is_refused_in_either_place():
    inside = {"rope_parameters": {"rope_theta": 500.0, "partial_rotary_factor": 0.5}}
    with pytest.raises(ModelError, match="partial_rotary_factor must turn"):
        read_config({**NUMBERS, "head_dim": 8, **inside})


def test_every_field_is_decided():
    from transformers import LlamaConfig

    assert_every_field_is_decided(LlamaConfig, ENTRIES)


@pytest.mark.parametrize(
    ("entries", "field"),
    [
        ({"activation": "gelu_tanh", "mlp_bias": True, "tied": False}, None),
        ({"rope": Rope(scaling=Linear(factor=2.0))}, "rope"),
        ({"qk_norm": True}, "qk_norm"),
        ({"norm": "layer"}, "norm"),
        ({"embed_scale": 2.0}, "embed_scale"),
    ],
)
def test_what_a_llama_cannot_be_is_not_written_as_one(entries, field):
    config = replace(model_config(), **entries)
    if field is None:
        assert read_config(write_config(config)) == config
    else:
        with pytest.raises(ModelError, match=f"^{field} of a Llama model must be .* to be written"):
            write_config(config)


def test_dropout_of_training_is_no_part_of_the_format():
    config = model_config()
    training = replace(config, attention=replace(config.attention, dropout=0.1))
    assert write_config(training) == write_config(config)


@pytest.mark.parametrize("value", [None, 0, -3, "15", 1.5, True, [15]])
@pytest.mark.parametrize("name", ["vocab_size", "hidden_size", "num_attention_heads"])
@pytest.mark.usefixtures("as_in_use")
def test_size_that_is_none_is_refused(name, value):
    # num_attention_heads 0 once ended in a division by zero.
    with pytest.raises(HeadscopeError, match=f"{name} in config.json must be a whole number"):
        read_config({**NUMBERS, name: value})


@pytest.mark.parametrize("name", ["rms_norm_eps", "rope_theta"])
@pytest.mark.parametrize("value", [0, -1.0, "1e-5", float("nan"), float("inf"), True])
def test_number_that_is_none_is_refused(name, value):
    with pytest.raises(ModelError, match=f"{name} in config.json must be a number above 0; got"):
        read_config({**NUMBERS, name: value})


@pytest.mark.usefixtures("as_in_use")
@pytest.mark.parametrize(
    "entries",
    [{"head_dim": 7}, {"head_dim": "8"}, {"num_key_value_heads": 2}, {"rope_parameters": 3}],
)
def test_sizes_that_do_not_fit_are_one_sentence(entries):
    with pytest.raises(HeadscopeError, match="must"):
        read_config({**NUMBERS, **entries})


def test_every_parameter_has_a_name_and_no_name_comes_twice(config):
    names = weights(config)
    assert set(names) == set(small_model(config).state_dict())
    assert len({stored.name for stored in names.values()}) == len(names)


def test_families_are_listed_once():
    assert [family.name for family in FAMILIES.values()] == list(FAMILIES)
    assert find_family("llama").weights is weights


# ------------------------------------------------------------------ parity


SIZES = {
    "vocab_size": 101,
    "hidden_size": 30,
    "intermediate_size": 17,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "max_position_embeddings": 61,
    "rms_norm_eps": 1e-4,
    "bos_token_id": 0,
    "eos_token_id": 0,
}
LLAMA3 = {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16}
MAKES = {
    "as Llama 2: a kv head for each": {},
    "as SmolLM2: 9 heads on 3, tied": {
        "num_attention_heads": 9,
        "num_key_value_heads": 3,
        "hidden_size": 45,
        "head_dim": 10,
        "tie_word_embeddings": True,
        "rope_parameters": {"rope_type": "default", "rope_theta": 500.0},
    },
    "as Llama 3: stretched, one kv head": {
        "num_key_value_heads": 1,
        "rope_parameters": {"rope_type": "llama3", "factor": 8.0, "rope_theta": 99.0, **LLAMA3},
    },
    "biases, exact gelu, heads narrower than their share": {
        "attention_bias": True,
        "mlp_bias": True,
        "hidden_act": "gelu",
        "head_dim": 4,
        "rope_scaling": {"type": "linear", "factor": 3.0},
    },
}
LONG = tuple((place * place + 3 * place) % 101 for place in range(29))
STRETCHED = {  # read further than in training
    "dynamic": {"type": "dynamic", "factor": 3.0},
    "yarn": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 13},
}


@pytest.mark.parametrize("make", MAKES)
def test_it_is_the_same_as_transformers(make, tmp_path):
    from transformers import LlamaConfig

    theirs = from_config(LlamaConfig(**{**SIZES, **MAKES[make]}))
    assert_same_as_transformers(theirs, tmp_path)


@pytest.mark.parametrize("make", STRETCHED)
def test_text_longer_than_in_training_is_the_same_as_transformers(make, tmp_path):
    from transformers import LlamaConfig

    given = {**SIZES, "max_position_embeddings": 13, "rope_theta": 300.0}
    theirs = from_config(LlamaConfig(**given, rope_scaling=STRETCHED[make]))
    ours = assert_same_as_transformers(theirs, tmp_path, LONG)
    assert ours.config.context_length == int(STRETCHED[make]["factor"] * 13)


def test_dynamic_stretching_begins_within_what_is_written(tmp_path):
    from transformers import LlamaConfig

    given = {**SIZES, "max_position_embeddings": 13, "rope_theta": 300.0}
    theirs = from_config(LlamaConfig(**given, rope_scaling=STRETCHED["dynamic"]))
    assert_same_as_transformers(theirs, tmp_path, LONG[:9], num_tokens=11)


def test_model_that_we_save_is_the_same_to_transformers(config, tmp_path):
    from transformers import LlamaForCausalLM

    ours = small_model(config)
    save_model(ours, tmp_path, dtype=torch.float32)
    theirs = LlamaForCausalLM.from_pretrained(
        tmp_path, attn_implementation="eager", local_files_only=True
    ).eval()
    assert theirs.dtype == torch.float32
    with torch.no_grad():
        out = theirs(torch.tensor([IDS]), output_attentions=True)
    record = ours.run(IDS)
    # Float32 sums in another order, of logits of up to 30.
    torch.testing.assert_close(record.logits, out.logits[0], rtol=1e-4, atol=1e-4)
    for layer, pattern in enumerate(out.attentions):
        found = torch.from_numpy(record.layer_pattern(layer))
        torch.testing.assert_close(found, pattern[0], rtol=1e-3, atol=1e-5)
