from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from attention.training.corpus import CorpusFile
from attention.training.sources import SOURCES
from attention.training.tokenizer import (
    BOS,
    BOS_ID,
    build_tokens,
    encode_lines,
    train_tokenizer,
    weighted_lines,
)

LINES = ["the cat sat on the mat\n", "the dog sat on the rug\n"] * 11
VOCAB_SIZE = 271  # bos, 256 bytes, 14 merges


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer(LINES, VOCAB_SIZE)


def test_the_vocabulary_has_the_size_asked_for(tokenizer):
    assert tokenizer.get_vocab_size() == VOCAB_SIZE


def test_bos_is_id_0_and_comes_once(tokenizer):
    assert tokenizer.token_to_id(BOS) == BOS_ID == 0
    ids = tokenizer.encode("the cat").ids
    assert ids[0] == BOS_ID
    assert BOS_ID not in ids[1:]
    assert tokenizer.encode("").ids == [BOS_ID]


def test_saved_and_loaded_it_still_puts_bos_first(tokenizer, tmp_path):
    tokenizer.save(str(tmp_path / "t.json"))
    loaded = Tokenizer.from_file(str(tmp_path / "t.json"))
    assert loaded.encode("a rug").ids == tokenizer.encode("a rug").ids


def test_spans_keep_their_blanks(tokenizer):
    assert tokenizer.encode("the  cat").offsets[1:] == [(0, 3), (3, 4), (4, 8)]


def test_the_recipe_gives_the_same_tokenizer_twice(tokenizer):
    assert train_tokenizer(LINES, VOCAB_SIZE).to_str() == tokenizer.to_str()


@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_comes_back(tokenizer, text):
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    expected = text.replace(BOS, "")
    assert tokenizer.decode(ids, skip_special_tokens=True) == expected


def corpus_file(path, weight):
    return CorpusFile(replace(SOURCES[0], weight=weight), path, "", "")


@pytest.mark.parametrize(("weight", "expected"), [(1.0, 10), (1.5, 15), (0.4, 4)])
def test_lines_come_as_often_as_their_text_weighs(weight, expected, tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("".join(f"line {i}\n" for i in range(10)))
    assert len(list(weighted_lines([corpus_file(path, weight)]))) == expected


def test_encoded_lines_have_no_bos_and_give_the_text_back(tokenizer):
    ids = encode_lines(tokenizer, LINES)
    assert ids.dtype == np.uint16
    assert BOS_ID not in ids
    assert tokenizer.decode(ids.tolist()) == "".join(LINES)


def test_token_files_are_written_once(tmp_path):
    path = tmp_path / "austen.txt"
    path.write_text("".join(LINES))
    files = [corpus_file(path, 1.0)]
    found = build_tokens(files, tmp_path)["austen"]
    written = found.stat().st_mtime_ns
    assert np.fromfile(found, dtype=np.uint16).size > 0
    assert build_tokens(files, tmp_path)["austen"].stat().st_mtime_ns == written
