import math

import pytest
import torch
from torch.nn import functional

from attention.errors import HeadscopeError
from attention.tokens import Tokenizer
from attention.training.measure import Reading, read_text, read_windows
from attention.training.today import TODAY
from tests.builders import byte_level_backend, model_config, small_model


@pytest.fixture
def model():
    config = model_config(vocab_size=300, context_length=13)
    return small_model(config, tokenizer=Tokenizer(byte_level_backend()))


def test_a_reading_in_tokens_and_in_characters():
    read = Reading(nats=6.0, tokens=3, characters=12)
    assert read.nats_per_token == 2.0
    assert read.bits_per_character == pytest.approx(0.5 / math.log(2))
    assert read.characters_per_token == 4.0
    assert read + read == Reading(12.0, 6, 24)


@torch.inference_mode()
def test_a_text_longer_than_the_context_is_read_in_pieces(model):
    text = "the cat sat on the mat 123 456"
    ids = list(model.tokenizer.encode(text).ids[1:])
    assert len(ids) > 12
    nats = 0.0
    for start in range(0, len(ids), 12):
        piece = [0, *ids[start : start + 12]]
        logits = model(torch.tensor([piece[:-1]]))[0]
        nats += functional.cross_entropy(logits, torch.tensor(piece[1:]), reduction="sum").item()
    read = read_text(model, text)
    assert (read.tokens, read.characters) == (len(ids), len(text))
    assert read.nats == pytest.approx(nats, rel=1e-5)


def test_windows_and_their_text_read_alike(model):
    ids = model.tokenizer.encode("the dog ran to the cat in the rain").ids[:13]
    windows = torch.tensor([ids])
    text = model.tokenizer.decode(ids[1:])
    read, again = read_windows(model, windows), read_text(model, text)
    assert (read.tokens, read.characters) == (again.tokens, again.characters)
    assert read.nats == pytest.approx(again.nats, rel=1e-5)


def test_a_model_without_a_tokenizer_cannot_be_compared():
    with pytest.raises(HeadscopeError, match="small must have a tokenizer"):
        read_text(small_model(), "a")


def test_todays_sentences_are_plain_ascii_and_none_comes_twice():
    assert len(set(TODAY)) == len(TODAY) == 40
    assert all(sentence.isascii() for sentence in TODAY)
