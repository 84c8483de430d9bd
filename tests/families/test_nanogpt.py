"""nanoGPT's ckpt.pt, held to a reference of a few lines."""

import json

import pytest
import torch

from attention.errors import HeadscopeError
from attention.families.nanogpt import FAMILY, read_config, recognise
from attention.loading import load_model
from tests.families.parity import IDS, NUM_TOKENS, assert_same, assert_writes, randomised
from tests.families.references import NanoGPT, greedy

ARGS = {"n_layer": 2, "n_head": 3, "n_embd": 15, "block_size": 61, "vocab_size": 101}
MAKES = {
    "biases": {"bias": True},
    "no biases": {"bias": False, "n_layer": 3, "n_embd": 35, "n_head": 5},
    "one head, a padded vocabulary, dropout": {
        "bias": False,
        "n_head": 1,
        "n_embd": 13,
        "vocab_size": 128,
        "dropout": 0.2,
    },
}


def saved(model, path, args, *, before=""):
    """As train.py saves it, the optimizer's numbers left out."""
    state = {f"{before}{name}": tensor for name, tensor in model.state_dict().items()}
    run = {"iter_num": 3, "best_val_loss": torch.tensor(1.5), "config": {"device": "cpu"}}
    torch.save({"model": state, "optimizer": {}, "model_args": args, **run}, path)


@pytest.mark.parametrize("make", MAKES)
def test_it_is_the_same_as_the_reference(make, tmp_path):
    args = {**ARGS, **MAKES[make]}
    theirs = randomised(NanoGPT(args))
    saved(theirs, tmp_path / "ckpt.pt", args)
    ours = load_model(str(tmp_path / "ckpt.pt"))
    logits, patterns = theirs(torch.tensor(IDS))
    assert_same(ours, IDS, logits=logits, patterns=patterns)
    assert_writes(ours, IDS, greedy(theirs, IDS, NUM_TOKENS))


def test_a_compiled_model_with_masks_and_an_unknown_vocabulary_is_the_same(tmp_path):
    args = {**ARGS, "bias": True}
    theirs = randomised(NanoGPT(args, masks=True))
    path = tmp_path / "ckpt.pt"
    saved(theirs, path, {**args, "vocab_size": None}, before="_orig_mod.")
    found = load_model(str(path)).run(IDS)
    torch.testing.assert_close(found.logits, theirs(torch.tensor(IDS))[0])


def test_its_names_are_taken_without_the_prefix_of_the_compiler():
    args = {**ARGS, "bias": True}
    compiled = {f"_orig_mod.{name}": t for name, t in NanoGPT(args).state_dict().items()}
    config, tensors = recognise({"model_args": args, "model": compiled})
    names = {stored.name for stored in FAMILY.weights(read_config(config)).values()}
    assert names | {"lm_head.weight"} == set(tensors)


@pytest.mark.parametrize(
    "found",
    [{}, {"model_args": ARGS}, {"model": {}}, {"model_args": ARGS, "model": {"wte": 3}}],
)
def test_something_else_is_not_taken_for_it(found):
    assert recognise(found) is None


def test_the_activation_of_older_checkpoints_can_be_told_in_a_config_beside_them(tmp_path):
    args = {**ARGS, "bias": True}
    saved(randomised(NanoGPT(args)), tmp_path / "ckpt.pt", args)
    told = {"model_type": "nanogpt", **args, "activation_function": "gelu_new"}
    (tmp_path / "config.json").write_text(json.dumps(told), encoding="utf-8")
    assert load_model(str(tmp_path / "ckpt.pt")).config.activation == "gelu_tanh"
    assert read_config(args).activation == "gelu"


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"use_rmsnorm": True}, "use_rmsnorm must be no entry of model_args"),
        ({"n_kv_head": 1}, "n_kv_head must be no entry of model_args, .* got 1"),
        ({"bias": "no"}, "bias must be one of True, False to be shown right; got 'no'"),
        ({"n_embd": 16}, "n_embd in config.json must be a multiple of n_head"),
        ({"block_size": None}, "block_size in config.json must be a whole number of at least 1"),
    ],
)
@pytest.mark.usefixtures("as_in_use")
def test_what_would_make_a_wrong_picture_is_refused_by_name(entries, message):
    with pytest.raises(HeadscopeError, match=message):
        read_config({**ARGS, **entries})


def test_a_switch_of_a_fork_that_is_off_changes_nothing():
    assert read_config({**ARGS, "use_rmsnorm": False}) == read_config(ARGS)


@pytest.mark.parametrize("shape", [(), (5,), (2, 3, 5)])
def test_an_embedding_that_is_no_matrix_is_named(shape):
    found = {
        "model_args": {**ARGS, "vocab_size": None},
        "model": {"transformer.wte.weight": torch.ones(shape)},
    }
    with pytest.raises(HeadscopeError, match=r"wte\.weight must have two axes; it has shape \("):
        recognise(found)
