import math

import pytest
import torch
from transformers import AutoModelForCausalLM

from attention.errors import ModelError
from attention.loading import load_model
from attention.sources import open_checkpoint
from tests.sources.gguf.files import llama_facts, llama_tensors, write_gguf

IDS = (7, 1, 2, 3, 1, 2, 3, 30, 36, 0, 11)
QKV = ("attn_q", "attn_k", "attn_v")
MAKES = {
    "llama": ("llama", {"rope.dimension_count": 4}, {}),
    "llama, own read-out": ("llama", {"rope.dimension_count": 4}, {"tied": False}),
    "qwen2": ("qwen2", {}, {"bias": QKV}),
    "qwen3": (
        "qwen3",
        {"attention.key_length": 10, "attention.value_length": 10},
        {"head_dim": 10, "norms": ("attn_q_norm", "attn_k_norm"), "tied": False},
    ),
}


@pytest.mark.parametrize("make", MAKES)
def test_config_and_tensors_are_those_that_transformers_makes_of_the_file(make, tmp_path):
    kind, facts, tensors = MAKES[make]
    path = write_gguf(tmp_path / "m.gguf", kind, llama_facts(**facts), llama_tensors(**tensors))
    told = {"head_dim": 10} if kind == "qwen3" else {}  # which transformers does not read
    theirs = AutoModelForCausalLM.from_pretrained(str(tmp_path), gguf_file=path.name, **told)
    ours = open_checkpoint(str(path))
    config = theirs.config.to_dict()
    rope = config["rope_parameters"]
    assert ours.config["rope_theta"] == rope["rope_theta"]
    for name in set(ours.config) & set(config) - {"attention_bias"}:
        assert ours.config[name] == config[name], name
    expected = theirs.state_dict()
    if config["tie_word_embeddings"]:
        del expected["lm_head.weight"]
    assert set(ours.tensors) == set(expected)
    for name, tensor in expected.items():
        torch.testing.assert_close(ours.tensors[name], tensor, rtol=0, atol=0)
        assert ours.tensors.entries[name].shape == tensor.shape
    with torch.inference_mode():
        logits = theirs(torch.tensor([IDS])).logits[0]
    torch.testing.assert_close(load_model(str(path)).run(IDS).logits, logits)


@torch.inference_mode()
def test_llama_file_opens_as_a_model_that_computes_the_same(tmp_path):
    path = write_gguf(
        tmp_path / "m.gguf", "llama", llama_facts(**{"rope.dimension_count": 4}), llama_tensors()
    )
    theirs = AutoModelForCausalLM.from_pretrained(
        str(tmp_path), gguf_file=path.name, attn_implementation="eager"
    )
    expected = theirs(torch.tensor([IDS]), output_attentions=True)
    record = load_model(str(path)).run(IDS)
    torch.testing.assert_close(record.logits, expected.logits[0])
    for layer, patterns in enumerate(expected.attentions):
        for head, pattern in enumerate(patterns[0]):
            torch.testing.assert_close(torch.tensor(record.pattern(layer, head)), pattern)


# ------------------------------------------------------------------ what else a file can say


def config_of(tmp_path, *, kind="llama", tensors=None, **facts):
    keys = {key.replace("__", "."): value for key, value in facts.items()}
    path = write_gguf(tmp_path / "m.gguf", kind, llama_facts(**keys), tensors or llama_tensors())
    return open_checkpoint(str(path)).config


def llama3_factors(factor, *, low=1.0, theta=5_000.0, dim=4):
    """As llama.cpp's converter works them out."""
    found = []
    for i in range(0, dim, 2):
        wavelength = 2 * math.pi * theta ** (i / dim)
        if wavelength < 8192 / 4.0:
            found.append(1.0)
        elif wavelength > 8192 / low:
            found.append(factor)
        else:
            smooth = (8192 / wavelength - low) / (4.0 - low)
            found.append(1 / ((1 - smooth) / factor + smooth))
    return torch.tensor(found)


@pytest.mark.parametrize(("dim", "theta"), [(4, 5e8), (64, 5e5)])
def test_stretched_wavelengths_of_llama_3_are_told_in_the_config(dim, theta, tmp_path):
    tensors = llama_tensors(head_dim=dim) | {
        "rope_freqs.weight": llama3_factors(32.0, theta=theta, dim=dim)
    }
    facts = {"rope__freq_base": theta, "attention__key_length": dim}
    config = config_of(tmp_path, tensors=tensors, **facts)
    assert config["rope_scaling"] == {
        "rope_type": "llama3",
        "factor": 32.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    assert load_model(str(tmp_path / "m.gguf")).config.rope.scaling.factor == 32


def test_other_stretched_wavelengths_are_refused(tmp_path):
    factors = llama3_factors(32.0, low=2.0, theta=5e5, dim=64)
    tensors = llama_tensors(head_dim=64) | {"rope_freqs.weight": factors}
    with pytest.raises(ModelError, match=r"must hold the factors of Llama 3 .* it holds others"):
        config_of(tmp_path, tensors=tensors, rope__freq_base=5e5, attention__key_length=64)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"rope__scaling__type": "none"}, None),
        (
            {"rope__scaling__type": "linear", "rope__scaling__factor": 2.5},
            {"rope_type": "linear", "factor": 2.5},
        ),
        ({"rope__scale_linear": 3.0}, {"rope_type": "linear", "factor": 3.0}),
        (
            {
                "rope__scaling__type": "yarn",
                "rope__scaling__factor": 4.0,
                "rope__scaling__original_context_length": 16,
            },
            {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16},
        ),
    ],
)
def test_scaling_is_told_in_the_config(facts, expected, tmp_path):
    assert config_of(tmp_path, **facts).get("rope_scaling") == expected
    scaling = load_model(str(tmp_path / "m.gguf")).config.rope.scaling
    assert (scaling is None) == (expected is None)


def test_sliding_window_makes_a_llama_file_a_mistral(tmp_path):
    config = config_of(tmp_path, attention__sliding_window=5)
    assert (config["model_type"], config["sliding_window"]) == ("mistral", 5)
    pattern = load_model(str(tmp_path / "m.gguf")).run(IDS).pattern(0, 3)
    assert (pattern[10, :6] == 0).all()
    assert (pattern[10, 6:] > 0).all()
    with pytest.raises(ModelError, match=r"must not ask for qwen2\.attention\.sliding_window"):
        config_of(tmp_path, kind="qwen2", attention__sliding_window=5)


def test_features_that_are_not_turned_are_told(tmp_path):
    assert config_of(tmp_path, rope__dimension_count=2)["partial_rotary_factor"] == 0.5


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"expert_count": 8}, r"must not ask for llama\.expert_count, .* got 8"),
        ({"rope__scaling__type": "longrope"}, "must be none, linear or yarn .* got 'longrope'"),
        ({"attention__head_count": "six"}, r"must say llama\.attention\.head_count, a number; got"),
        ({"block_count": 2.5}, r"llama\.block_count in .* must be a whole number .* got 2\.5"),
        ({"attention__head_count": 0}, "head_count in .* must be a whole number .* got 0"),
        ({"attention__key_length": 0}, "key_length in .* must be a whole number .* got 0"),
        ({"attention__head_count": 7}, "must be of a shape that its heads divide"),
    ],
)
def test_what_would_be_read_wrong_is_refused_by_name(facts, message, tmp_path):
    with pytest.raises(ModelError, match=message):
        config_of(tmp_path, **facts)


def test_size_that_is_missing_is_named(tmp_path):
    facts = llama_facts()
    del facts["context_length"]
    path = write_gguf(tmp_path / "m.gguf", "llama", facts, llama_tensors())
    with pytest.raises(ModelError, match=r"must say llama\.context_length, a number; got none"):
        open_checkpoint(str(path))


def test_file_without_embeddings_is_refused(tmp_path):
    tensors = llama_tensors()
    del tensors["token_embd.weight"]
    with pytest.raises(ModelError, match=r"must hold token_embd\.weight; it does not"):
        config_of(tmp_path, tensors=tensors)


@pytest.mark.parametrize("shape", [(5,), (2, 2, 2)])
def test_embeddings_that_are_no_matrix_are_refused(shape, tmp_path):
    tensors = {**llama_tensors(), "token_embd.weight": torch.ones(shape)}
    with pytest.raises(ModelError, match=r"token_embd\.weight in .* must have two axes; got"):
        config_of(tmp_path, tensors=tensors)


def test_weight_that_is_missing_is_named_before_any_is_read(tmp_path):
    tensors = llama_tensors()
    del tensors["blk.1.ffn_up.weight"]
    path = write_gguf(tmp_path / "m.gguf", "llama", llama_facts(), tensors)
    with pytest.raises(ModelError, match=r"must hold model\.layers\.1\.mlp\.up_proj\.weight"):
        load_model(str(path))
