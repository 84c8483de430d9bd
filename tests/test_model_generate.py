import dataclasses

import pytest

from attention import model as module_under_test
from attention.errors import ConfigError, TextError
from attention.tokens import Tokenizer
from tests.builders import byte_level_backend, model_config, small_model

IDS = (7, 1, 2, 3, 1, 2, 3, 97, 53, 11, 5)


@pytest.fixture(scope="module")
def model():
    return small_model()


@pytest.fixture(scope="module")
def reader():
    return small_model(
        model_config(vocab_size=300), tokenizer=Tokenizer(byte_level_backend(vocab_size=300))
    )


def test_greedy_tokens_are_the_likeliest(model):
    written = model.generate(IDS[:3], 5)
    assert len(written) == 8
    for at in range(3, 8):
        assert written.ids[at] == int(model.run(written.ids[:at]).logits[-1].argmax())


def test_each_token_is_read_once(model):
    read = []
    hook = model.embed.register_forward_pre_hook(lambda _, given: read.append(given[0].shape[1]))
    model.generate(IDS[:3], 5)
    hook.remove()
    assert read == [3, 1, 1, 1, 1]


@pytest.mark.parametrize("name", ["looped", "sdpa"])
def test_tokens_are_the_same_without_a_cache(name, monkeypatch):
    model = small_model(model_config(num_heads=9, num_kv_heads=3))
    with_cache = model.generate(IDS, 15, temperature=1.5, seed=3, implementation=name)
    find = module_under_test.find_implementation
    monkeypatch.setattr(
        module_under_test,
        "find_implementation",
        lambda name: dataclasses.replace(find(name), has_cache=False),
    )
    read = []
    model.embed.register_forward_pre_hook(lambda _, given: read.append(given[0].shape[1]))
    without = model.generate(IDS, 15, temperature=1.5, seed=3, implementation=name)
    assert without.ids == with_cache.ids
    assert read == list(range(11, 26))


def test_sampled_tokens_depend_on_the_seed_alone(model):
    first, again, other = (
        model.generate(IDS[:3], 20, temperature=3.0, seed=seed).ids for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_added_tokens_follow_those_of_the_text(reader):
    # Peers label the rows of the added tokens without the offset of the prompt.
    prompt = reader.tokenizer.encode("the cat")
    written = reader.generate("the cat", 2)
    assert written.ids[:3] == prompt.ids
    assert written.labels[:3] == prompt.labels
    assert written.labels[3] == reader.tokenizer.label(written.ids[3])
    assert reader.run(written).seq_len == 5


def test_writing_past_the_context_is_refused_with_both_numbers(model):
    with pytest.raises(TextError, match="at most 61 together; got 11 and 51"):
        model.generate(IDS, 51)
    assert len(model.generate(IDS[:3], 58)) == 61


@pytest.mark.parametrize("temperature", [-0.1, float("nan"), float("inf")])
def test_temperature_that_is_none_is_refused(model, temperature):
    with pytest.raises(ConfigError, match="temperature must be at least 0 and finite"):
        model.generate(IDS, 1, temperature=temperature)


def test_no_tokens_to_add_are_refused(model):
    with pytest.raises(ConfigError, match="num_tokens must be a whole number of at least 1"):
        model.generate(IDS, 0)


def test_row_after_the_prompt_is_the_first_generated_token():
    # Elsewhere the rows were labelled without the prompt's offset.
    model = small_model()
    prompt = (7, 1, 2, 3, 5)
    record = model.run(model.generate(prompt, 3))
    assert record.seq_len == 8
    assert record.tokens.ids[:5] == prompt
    assert record.tokens.ids[5] == int(model.run(prompt).logits[-1].argmax())
    assert record.tokens.labels[5] == str(record.tokens.ids[5])
