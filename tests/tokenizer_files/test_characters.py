"""nanoGPT's meta.pkl."""

import pickle
import subprocess

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention.errors import ModelError, TextError
from attention.tokenizer_files import find_tokenizer
from attention.tokenizer_files.characters import LARGEST, read_characters

CHARS = sorted(set("\n !abcdé你▁Ġ"))
STOI = {char: i for i, char in enumerate(CHARS)}


def meta(folder, content=None):
    """The file as nanoGPT's prepare.py writes it."""
    path = folder / "meta.pkl"
    itos = dict(enumerate(CHARS))
    whole = {"vocab_size": len(CHARS), "itos": itos, "stoi": STOI}
    path.write_bytes(pickle.dumps(whole if content is None else content))
    return path


def test_each_character_is_a_token(tmp_path):
    meta(tmp_path)
    tokenizer = find_tokenizer(tmp_path)
    tokens = tokenizer.encode("a b\né你")
    assert tokens.ids == tuple(STOI[char] for char in "a b\né你")
    assert tokens.labels == ("a", "␣", "b", "\\n", "é", "你")
    assert tokens.offsets == tuple((i, i + 1) for i in range(6))
    assert (tokenizer.adds_bos, tokenizer.bos_id) == (False, None)


@given(st.text(CHARS))
def test_every_text_of_the_characters_comes_back(tmp_path_factory, text):
    tokenizer = read_characters(meta(tmp_path_factory.getbasetemp()))
    tokens = tokenizer.encode(text)
    assert tokenizer.decode(tokens.ids) == text
    assert tokens.ids == tuple(STOI[char] for char in text)


def test_character_that_the_model_does_not_know_is_refused_by_name(tmp_path):
    with pytest.raises(TextError, match=r"it has no token for 'z' \(U\+007A\)"):
        read_characters(meta(tmp_path)).encode("abz")


class Code:
    def __reduce__(self):
        return subprocess.run, (["touch", "/nonexistent/never"],)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"stoi": Code()}, "asks for subprocess.run"),
        ({"stoi": {"a": np.int64(0)}}, "asks for numpy"),
        ({"stoi": {"a": 0}, "extra": STOI.keys}, "asks for "),
        ({"itos": {}}, "must be nanoGPT's meta.pkl"),
        ([1], "must be nanoGPT's meta.pkl"),
        ({"stoi": {"a": "b", "c": 1}}, "must be nanoGPT's meta.pkl"),
        ({"stoi": {1: 0}}, "must be nanoGPT's meta.pkl"),
        ({"stoi": {"a": 1}}, "must number single characters from 0 on; it does not"),
        ({"stoi": {"a": 0, "b": 2}}, "must number single characters from 0 on"),
        ({"stoi": {"ab": 0}}, "must number single characters from 0 on"),
        ({"stoi": {(1,): 0}}, "must number single characters from 0 on"),
        ({"stoi": {}}, "must number single characters from 0 on"),
    ],
)
def test_anything_but_a_plain_numbering_is_refused(tmp_path, content, message):
    with pytest.raises(ModelError, match=message):
        read_characters(meta(tmp_path, content))


@pytest.mark.parametrize("content", [b"", b"no pickle", b"\x80\x04P0\n.", b"(lp0\n.x"])
def test_broken_pickle_is_one_sentence(tmp_path, content):
    path = tmp_path / "meta.pkl"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"must be nanoGPT's meta\.pkl"):
        read_characters(path)


def test_file_that_is_far_too_long_is_not_read(tmp_path):
    path = tmp_path / "meta.pkl"
    with path.open("wb") as file:
        file.truncate(LARGEST + 1)
    with pytest.raises(ModelError, match="must be a short list of characters"):
        read_characters(path)
