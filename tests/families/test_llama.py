"""The Llama format, and parity with an independent implementation of it."""

import pytest
import torch

from attention.errors import HeadscopeError, ModelError
from attention.families import FAMILIES, find_family
from attention.families.llama import SUPPORTED, read_config, weights, write_config
from attention.loading import load_model, save_model
from tests.builders import model_config, small_model

IDS = (7, 1, 2, 3, 1, 2, 3, 97, 53, 11, 5)
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
        ("rope_scaling", {"rope_type": "linear", "factor": 2.0}),
        ("sliding_window", 128),
        ("mlp_bias", True),
        ("tie_word_embeddings", False),
        ("hidden_act", "gelu"),
        ("partial_rotary_factor", 0.5),
        ("attention_bias", "no"),
    ],
)
def test_option_that_would_make_a_wrong_picture_is_refused_by_name(option, value):
    with pytest.raises(ModelError, match=f"{option} must be .* to be shown right; got"):
        read_config({**NUMBERS, option: value})
    assert option in SUPPORTED


def test_scaled_wavelengths_are_refused_by_name():
    scaled = {"rope_parameters": {"rope_type": "llama3", "rope_theta": 500.0}}
    with pytest.raises(ModelError, match=r"rope_type must be default .* got 'llama3'"):
        read_config({**NUMBERS, **scaled})


@pytest.mark.parametrize("value", [None, 0, -3, "15", 1.5, True, [15]])
@pytest.mark.parametrize("name", ["vocab_size", "hidden_size", "num_attention_heads"])
@pytest.mark.usefixtures("as_in_use")
def test_size_that_is_none_is_refused(name, value):
    # num_attention_heads 0 once ended in a division by zero.
    with pytest.raises(HeadscopeError, match=f"{name} in config.json must be a whole number"):
        read_config({**NUMBERS, name: value})


@pytest.mark.parametrize("name", ["rms_norm_eps", "rope_theta"])
@pytest.mark.parametrize("value", [None, 0, -1.0, "1e-5", float("nan"), float("inf"), True])
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


def eager(model, ids):
    with torch.no_grad():
        out = model(torch.tensor([ids]), output_attentions=True)
    return out.logits[0], [layer[0] for layer in out.attentions]


def assert_same(ours, theirs):
    logits, attentions = eager(theirs, IDS)
    for name in ("batched", "sdpa", "looped"):
        record = ours.run(IDS, implementation=name)
        # Float32 sums in another order, of logits of up to 30.
        torch.testing.assert_close(record.logits, logits, rtol=1e-4, atol=1e-4)
        for layer, pattern in enumerate(attentions):
            torch.testing.assert_close(
                torch.from_numpy(record.layer_pattern(layer)), pattern, rtol=1e-3, atol=1e-5
            )


def test_model_that_we_save_is_the_same_to_transformers(config, tmp_path):
    from transformers import LlamaForCausalLM

    ours = small_model(config)
    save_model(ours, tmp_path, dtype=torch.float32)
    theirs = LlamaForCausalLM.from_pretrained(
        tmp_path, attn_implementation="eager", local_files_only=True
    )
    assert theirs.dtype == torch.float32
    assert_same(ours, theirs.eval())


@pytest.mark.parametrize(("heads", "kv_heads", "bias"), [(3, 3, True), (9, 3, False)])
def test_model_that_transformers_saves_is_the_same_to_us(tmp_path, heads, kv_heads, bias):
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(20)
    theirs = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=101,
            hidden_size=90,
            intermediate_size=17,
            num_hidden_layers=2,
            num_attention_heads=heads,
            num_key_value_heads=kv_heads,
            max_position_embeddings=61,
            attention_bias=bias,
            tie_word_embeddings=True,
            rms_norm_eps=1e-4,
            rope_parameters={"rope_theta": 500.0, "rope_type": "default"},
            initializer_range=0.3,
            attn_implementation="eager",
        )
    ).eval()
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            if name.endswith("bias"):
                parameter.normal_()
    theirs.save_pretrained(tmp_path)
    assert_same(load_model(str(tmp_path)), theirs)
