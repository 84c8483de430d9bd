"""The book's GPTModel as its state dict, held to a reference of a few lines."""

import json

import pytest
import torch

from attention.errors import HeadscopeError
from attention.families.book import FAMILY, NAME, read_config, recognise
from attention.loading import load_model
from tests.families.parity import IDS, NUM_TOKENS, assert_same, assert_writes, randomised
from tests.families.references import BookGPT, greedy

CONFIG = {
    "vocab_size": 101,
    "context_length": 61,
    "emb_dim": 15,
    "n_heads": 3,
    "n_layers": 2,
    "drop_rate": 0.1,
    "qkv_bias": False,
}
MAKES = {
    "as in the book": {},
    "biases of q, k and v": {"qkv_bias": True, "n_layers": 3, "emb_dim": 35, "n_heads": 5},
    "one head": {"n_heads": 1, "emb_dim": 13, "context_length": 23},
}


@pytest.fixture(params=MAKES)
def book(request):
    return {**CONFIG, **MAKES[request.param]}


def test_it_is_the_same_as_the_reference(book, tmp_path):
    theirs = randomised(BookGPT(book))
    torch.save(theirs.state_dict(), tmp_path / "model.pth")
    ours = load_model(str(tmp_path / "model.pth"), num_heads=book["n_heads"])
    logits, patterns = theirs(torch.tensor(IDS))
    assert_same(ours, IDS, logits=logits, patterns=patterns)
    assert_writes(ours, IDS, greedy(theirs, IDS, NUM_TOKENS))


def test_it_is_found_beside_the_optimizer_and_its_heads_in_a_config(tmp_path):
    theirs = randomised(BookGPT(CONFIG))
    path = tmp_path / "model_and_optimizer.pth"
    torch.save({"model_state_dict": theirs.state_dict(), "optimizer_state_dict": {}}, path)
    expected = theirs(torch.tensor(IDS))[0]
    torch.testing.assert_close(load_model(str(path), num_heads=3).run(IDS).logits, expected)
    told = json.dumps({"model_type": NAME, **CONFIG})
    (tmp_path / "config.json").write_text(told, encoding="utf-8")
    torch.testing.assert_close(load_model(str(path)).run(IDS).logits, expected)


def test_names_and_shapes_tell_all_but_the_heads(book):
    config, tensors = recognise(BookGPT(book).state_dict())
    assert read_config({**config, "n_heads": book["n_heads"]}) == read_config(book)
    names = {stored.name for stored in FAMILY.weights(read_config(book)).values()}
    masks = {f"trf_blocks.{i}.att.mask" for i in range(book["n_layers"])}
    assert names | masks == set(tensors)


@pytest.mark.parametrize(("width", "heads"), [(768, 12), (1024, 16), (1280, 20), (1600, 25)])
def test_the_heads_of_gpt2_are_known_by_its_width(width, heads):
    config = {**CONFIG, "emb_dim": width, "n_heads": None}
    assert read_config(config).num_heads == heads
    assert read_config({**config, "n_heads": 4}).num_heads == 4


@pytest.mark.parametrize("width", [15, 64, 256])
def test_heads_of_another_width_are_asked_for(width):
    with pytest.raises(HeadscopeError, match=r"n_heads must be told, .* Give num_heads, or put"):
        read_config({**CONFIG, "emb_dim": width, "n_heads": None})


@pytest.mark.parametrize(
    "found",
    [
        {},
        {"tok_emb.weight": 1, "pos_emb.weight": 2},
        {"model": {"wte": torch.ones(1)}},
        {"model": 3},
    ],
)
def test_something_else_is_not_taken_for_it(found):
    assert recognise(found) is None


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"n_heads": 4}, "emb_dim in config.json must be a multiple of n_heads; got 15 and 4"),
        ({"n_heads": 0}, "n_heads in config.json must be a whole number of at least 1; got 0"),
        ({"qkv_bias": "no"}, "qkv_bias must be one of False, True to be shown right"),
        ({"sliding_window": 5}, "sliding_window must be left out to be shown right; got 5"),
    ],
)
@pytest.mark.usefixtures("as_in_use")
def test_what_would_make_a_wrong_picture_is_refused_by_name(entries, message):
    with pytest.raises(HeadscopeError, match=message):
        read_config({**CONFIG, **entries})


def test_a_head_for_classes_is_refused(tmp_path):
    model = BookGPT({**CONFIG, "emb_dim": 768, "n_layers": 1})
    model.out_head = torch.nn.Linear(768, 2)
    torch.save(model.state_dict(), tmp_path / "review_classifier.pth")
    with pytest.raises(HeadscopeError, match=r"must hold nothing unknown .* got out_head\.bias"):
        load_model(str(tmp_path / "review_classifier.pth"))


@pytest.mark.parametrize("name", ["tok_emb.weight", "pos_emb.weight"])
@pytest.mark.parametrize("shape", [(), (5,), (2, 3, 5)])
def test_an_embedding_that_is_no_matrix_is_named(name, shape):
    tensors = {**BookGPT(CONFIG).state_dict(), name: torch.ones(shape)}
    with pytest.raises(HeadscopeError, match=rf"{name} must have two axes; it has shape \("):
        recognise(tensors)
