"""The model that ships with Headscope is worth looking at: worked out from its own weights."""

import json
import math
from itertools import combinations

import numpy as np
import pytest
import torch

from attention.loading import EMBEDDED, load_model
from attention.scores import HEAD_METRICS, head_scores, label_heads, probe_scores
from attention.training.evaluate import best_head, repeat_scores, text_scores
from attention.training.today import TODAY
from components.samples import SAMPLES
from components.state import ENTRIES

TEXT = "Seán gave the cat 😀 to the dog, and the cat gave the dog to 你好.\n"
ORDINARY = [
    "My brother works in a small office near the river, and he walks home every evening.",
    "Yesterday the children played in the garden until it was dark.",
    "She opened the window, looked at the street and called her friend.",
    "The train was late again, so we had coffee at the station and talked about the film.",
    *(sample.text for sample in SAMPLES if not sample.name.startswith("random")),
]
MOST_BYTES = 12_000_000
# The means of two layers' heads put this share of a row's weight on different tokens, at least.
LAYERS_DIFFER = 0.15


@pytest.fixture(scope="module")
def model():
    return load_model()


@pytest.fixture(scope="module")
def probe(model):
    return probe_scores(model)


@pytest.fixture(scope="module")
def ordinary(model):
    """The mean of every head's scores over ordinary texts."""
    return text_scores(model, ORDINARY)


@pytest.fixture(scope="module")
def card():
    return (EMBEDDED / "README.md").read_text(encoding="utf-8")


# ------------------------------------------------------------------ its heads


@pytest.mark.parametrize("metric", ["previous_token", "induction"])
def test_some_head_does_what_it_is_famous_for(probe, metric):
    assert probe[metric].max() >= 0.8


@pytest.mark.parametrize(("metric", "least"), [("previous_token", 0.8), ("first_token", 0.6)])
def test_one_head_does_it_on_ordinary_text_throughout(ordinary, metric, least):
    assert ordinary[metric].max() >= least


def test_some_head_stays_with_its_token_or_takes_an_average(ordinary):
    assert ordinary["current_token"].max() >= 0.8 or ordinary["entropy"].max() >= 0.9


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


def total_variation(a, b):
    """The share of a row's weight that would have to move, the mean over rows: 0 to 1."""
    return float(np.abs(a - b).sum(axis=-1).mean() / 2)


def test_layers_differ_visibly(model):
    found = []
    for text in ORDINARY:
        record = model.run(text)
        means = [record.layer_pattern(i).mean(axis=0) for i in range(record.num_layers)]
        found.append([total_variation(a, b) for a, b in combinations(means, 2)])
    assert np.mean(found, axis=0).min() >= LAYERS_DIFFER


def test_page_begins_with_a_head_that_does_something_clear(model):
    # After another model has come: choose anew in `components.state.ENTRIES`.
    text, layer, head = (ENTRIES[key].default for key in ("text", "layer", "head"))
    assert label_heads(head_scores(model.run(text)))[layer][head] is not None


# ------------------------------------------------------------------ its files


def test_files_are_what_others_open_too():
    config = json.loads((EMBEDDED / "config.json").read_text(encoding="utf-8"))
    assert (config["model_type"], config["torch_dtype"]) == ("llama", "float16")
    assert sum(path.stat().st_size for path in EMBEDDED.rglob("*")) <= MOST_BYTES


def test_sizes_are_those_promised(model):
    config = model.config
    assert config.num_layers >= 4
    assert config.num_heads >= 8
    assert config.attention.num_kv_heads == config.num_heads  # no head shares its keys
    assert config.vocab_size >= 4_096
    assert config.context_length >= 256


@pytest.fixture(scope="module")
def theirs():
    from transformers import LlamaForCausalLM

    return LlamaForCausalLM.from_pretrained(
        EMBEDDED, attn_implementation="eager", dtype=torch.float32, local_files_only=True
    ).eval()


@pytest.mark.parametrize("text", [ORDINARY[0], SAMPLES[0].text, SAMPLES[-1].text, TEXT])
def test_transformers_sees_the_same_heads_and_says_the_same(model, theirs, text):
    record = model.run(text)
    with torch.no_grad():
        out = theirs(torch.tensor([record.tokens.ids]), output_attentions=True)
    # Float32 sums in another order, of logits of up to 30.
    torch.testing.assert_close(record.logits, out.logits[0], rtol=1e-4, atol=1e-4)
    assert len(out.attentions) == model.config.num_layers
    for layer, attentions in enumerate(out.attentions):
        ours = torch.from_numpy(record.layer_pattern(layer))
        torch.testing.assert_close(ours, attentions[0], rtol=1e-3, atol=1e-5)


# ------------------------------------------------------------------ its card


def rows_of(card, first):
    """The cells of the table's rows whose first cell begins so."""
    lines = [line for line in card.splitlines() if line.startswith(f"| {first}")]
    return [[cell.strip().strip("*") for cell in line.strip("|").split("|")] for line in lines]


@pytest.fixture(scope="module")
def repeats(model):
    return repeat_scores(model)


def test_every_score_of_the_card_is_that_of_the_weights(card, repeats):
    scores, _ = repeats
    [titles] = rows_of(card, "head |")
    metrics = {metric.title: name for name, metric in HEAD_METRICS.items()}
    rows = rows_of(card, "L")
    layers, heads = scores["induction"].shape
    assert [row[0] for row in rows] == [f"L{i}H{j}" for i in range(layers) for j in range(heads)]
    for place, title in enumerate(titles[1:], start=1):
        written = np.array([float(row[place]) for row in rows]).reshape(layers, heads)
        # Written with two digits, of weights that were float32 or rounded to float16.
        np.testing.assert_allclose(written, scores[metrics[title]], rtol=0, atol=0.0101)


def test_best_heads_of_the_card_are_those_of_the_weights(card, model, repeats):
    scores, accuracy = repeats
    written = {row[0].removeprefix("best head, "): row[1] for row in rows_of(card, "best head, ")}
    assert set(written) == {name.replace("_", " ") for name in HEAD_METRICS}
    for name, table in scores.items():
        found = float(written[name.replace("_", " ")].split()[0])
        assert found == pytest.approx(best_head(table)[0], abs=0.006)
    on_text = {row[0]: row[1] for row in rows_of(card, "best head on today's sentences, ")}
    for name, table in text_scores(model, TODAY).items():
        row = on_text[f"best head on today's sentences, {name.replace('_', ' ')}"]
        assert float(row.split()[0]) == pytest.approx(best_head(table)[0], abs=0.006)
    [[_, copied]] = rows_of(card, "repeated random tokens guessed right")
    assert float(copied) == pytest.approx(accuracy, abs=0.01)


# ------------------------------------------------------------------ its text


def test_text_of_every_kind_comes_back(model):
    tokens = model.tokenizer.encode(TEXT)
    assert tokens.ids[0] == model.config.bos_token_id
    assert tokens.ids.count(model.config.bos_token_id) == 1
    assert model.tokenizer.decode(tokens.ids) == TEXT
    covered = {i for start, end in tokens.offsets for i in range(start, end)}
    assert covered == set(range(len(TEXT)))


def test_vocabulary_of_the_tokenizer_is_that_of_the_model(model):
    assert model.tokenizer.backend.get_vocab_size() == model.config.vocab_size


@pytest.mark.parametrize(
    "text", ["He was a good man, and she was very happy to see him.", *ORDINARY[:4]]
)
def test_ordinary_text_is_no_surprise(model, text):
    # A model that guesses loses 12 bits a token of 4 or 5 characters: 2.7 bits a character.
    tokens = model.tokenizer.encode(text)
    logits = model.run(tokens).logits.log_softmax(dim=-1)
    nats = -sum(float(logits[i, token]) for i, token in enumerate(tokens.ids[1:]))
    assert nats / math.log(2) / len(text) < 2.0
