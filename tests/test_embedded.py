"""The model that ships with Headscope is worth looking at."""

import json

import pytest

from attention.loading import EMBEDDED, load_model
from attention.scores import label_heads, probe_scores

TEXT = "Seán gave the cat 😀 to the dog, and the cat gave the dog to 你好.\n"


@pytest.fixture(scope="module")
def model():
    return load_model()


@pytest.fixture(scope="module")
def probe(model):
    return probe_scores(model)


@pytest.mark.parametrize("metric", ["previous_token", "induction"])
def test_some_head_does_what_it_is_famous_for(probe, metric):
    assert probe[metric].max() > 0.8


def test_labels_name_a_previous_token_head_below_an_induction_head(probe):
    layers = {
        name: [
            layer
            for layer, heads in enumerate(label_heads(probe))
            for label in heads
            if label is not None and label.metric == name
        ]
        for name in ("previous_token", "induction")
    }
    # An induction head reads what a previous-token head has written.
    assert min(layers["previous_token"]) < min(layers["induction"])


def test_files_are_what_others_open_too():
    config = json.loads((EMBEDDED / "config.json").read_text(encoding="utf-8"))
    assert (config["model_type"], config["torch_dtype"]) == ("llama", "float16")
    assert (EMBEDDED / "README.md").is_file()
    assert sum(path.stat().st_size for path in EMBEDDED.iterdir()) < 12_000_000


def test_text_of_every_kind_comes_back(model):
    tokens = model.tokenizer.encode(TEXT)
    assert tokens.ids[0] == model.config.bos_token_id
    assert tokens.ids.count(model.config.bos_token_id) == 1
    assert model.tokenizer.decode(tokens.ids) == TEXT
    covered = {i for start, end in tokens.offsets for i in range(start, end)}
    assert covered == set(range(len(TEXT)))


def test_vocabulary_of_the_tokenizer_is_that_of_the_model(model):
    assert model.tokenizer.backend.get_vocab_size() == model.config.vocab_size


def test_ordinary_text_is_no_surprise(model):
    # A model that guesses loses log(4,096) = 8.3 nats a token.
    tokens = model.tokenizer.encode("He was a good man, and she was very happy to see him.")
    logits = model.run(tokens).logits.log_softmax(dim=-1)
    losses = [-float(logits[i, token]) for i, token in enumerate(tokens.ids[1:])]
    assert sum(losses) / len(losses) < 5.0
