"""A byte-level BPE from its vocabulary and its merges, as `transformers` makes it of them."""

import pytest
from hypothesis import given

from attention.errors import ModelError
from attention.tokenizer_files import find_tokenizer
from tests.tokenizer_files.samples import (
    AWKWARD,
    TEXTS,
    byte_level_bpe,
    covered,
    same_as_transformers,
    spans_of,
    vocab_and_merges,
    write_json,
)


@pytest.mark.parametrize(
    ("config", "settings"),
    [
        ({"model_type": "gpt2"}, None),
        ({"model_type": "gpt2"}, {"tokenizer_class": "GPT2TokenizerFast"}),
        ({"model_type": "gpt2"}, {"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": True}),
        (
            {"model_type": "opt"},
            {
                "tokenizer_class": "GPT2Tokenizer",
                "add_bos_token": True,
                "bos_token": "<|im_start|>",
            },
        ),
        ({"model_type": "phi"}, {"tokenizer_class": "CodeGenTokenizer"}),
        ({"model_type": "qwen2"}, {"tokenizer_class": "Qwen2Tokenizer"}),
        ({"model_type": "qwen3"}, None),
    ],
)
def test_vocabulary_and_merges_are_read_as_transformers_reads_them(tmp_path, config, settings):
    settings = {"additional_special_tokens": ["<|im_start|>"], **(settings or {})}
    same_as_transformers(vocab_and_merges(tmp_path, config=config, settings=settings))


def test_vocabulary_alone_is_gpt2s(tmp_path):
    tokenizer = find_tokenizer(vocab_and_merges(tmp_path))
    assert tokenizer.encode("the cat<|endoftext|>").labels[-2:] == ("␣cat", "<|endoftext|>")
    assert (tokenizer.adds_bos, tokenizer.bos_id) == (False, 0)


def test_openais_own_names_are_known(tmp_path):
    vocab_and_merges(tmp_path)
    expected = find_tokenizer(tmp_path).encode("the cat")
    (tmp_path / "vocab.json").rename(tmp_path / "encoder.json")
    (tmp_path / "merges.txt").rename(tmp_path / "vocab.bpe")
    assert find_tokenizer(tmp_path).encode("the cat") == expected


@given(TEXTS)
def test_every_text_comes_back_from_vocabulary_and_merges(tmp_path_factory, text):
    folder = tmp_path_factory.getbasetemp() / "vocabulary"
    if not folder.exists():
        folder.mkdir()
        vocab_and_merges(folder)
    tokenizer = find_tokenizer(folder)
    tokens = tokenizer.encode(text)
    assert tokenizer.decode(tokens.ids) == text
    assert covered(tokens) == set(range(len(text)))


def test_older_files_of_added_and_special_tokens_are_read(tmp_path):
    folder = vocab_and_merges(tmp_path, config={"model_type": "gpt2"})
    count = byte_level_bpe().get_vocab_size()
    write_json(folder / "added_tokens.json", {"<b>": count + 1, "<a>": count})
    special = {
        "bos_token": {"content": "<|im_start|>", "rstrip": True, "normalized": True},
        "additional_special_tokens": ["<a>"],
    }
    write_json(folder / "special_tokens_map.json", special)
    tokenizer = same_as_transformers(folder, ["x<b>y<|im_start|>  z<a>", *AWKWARD])
    tokens = tokenizer.encode("<|im_start|>  x<b>y<a>")
    assert tokens.ids[-3::2] == (count + 1, count)
    assert spans_of(tokens)[0] == "<|im_start|>  "
    assert tokenizer.decode(tokens.ids) == "x<b>y"
    assert tokenizer.bos_id == 1


@pytest.mark.parametrize(
    ("config", "settings", "got"),
    [
        ({"model_type": "llama"}, {"tokenizer_class": "GPT2Tokenizer"}, "'llama' with 'GPT2Tok"),
        ({"model_type": "smollm3"}, None, "got 'smollm3'"),
        (None, {"tokenizer_class": "BloomTokenizer"}, "got 'BloomTokenizer'"),
        ({"model_type": "gpt2"}, {"tokenizer_class": "Qwen2Tokenizer"}, "'gpt2' with 'Qwen2Tok"),
    ],
)
def test_model_whose_words_are_cut_in_an_unknown_way_is_refused(tmp_path, config, settings, got):
    # SmolLM's digits are single ones, which its vocab.json and merges.txt do not say.
    with pytest.raises(ModelError, match=rf"must be of a model that is known to cut words.*{got}"):
        find_tokenizer(vocab_and_merges(tmp_path, config=config, settings=settings))


def test_prefix_where_words_are_cut_first_is_refused(tmp_path):
    settings = {"tokenizer_class": "Qwen2Tokenizer", "add_prefix_space": True}
    with pytest.raises(ModelError, match="add_prefix_space must be off for this way"):
        find_tokenizer(vocab_and_merges(tmp_path, settings=settings))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("vocab.json", "[1]", "must hold a JSON object; it holds list"),
        ("vocab.json", "{", "must be JSON; it cannot be read"),
        ("vocab.json", '{"a": "b"}', "must give each token an id of its own"),
        ("vocab.json", '{"a": 1, "b": 1}', "must give each token an id of its own"),
        ("vocab.json", '{"a": 0}', "must hold a vocabulary and its merges"),
        ("merges.txt", "#version: 0.2\na b c\n", "must be two tokens each; number 1 is 'a b c'"),
        ("merges.txt", "ab\n", "must be two tokens each; number 1 is 'ab'"),
        ("tokenizer_config.json", '{"add_bos_token": 1}', "must be true or false; got 1"),
        ("tokenizer_config.json", '{"bos_token": 1}', "must be texts; got another"),
        ("tokenizer_config.json", '{"added_tokens_decoder": {"x": "<a>"}}', "must be texts"),
        ("added_tokens.json", '{"<a>": 7000}', "its id is to be 7000"),
        ("added_tokens.json", '{"<a>": "b"}', "must be texts; got another"),
    ],
)
def test_broken_file_is_refused_by_name(tmp_path, name, content, message):
    vocab_and_merges(tmp_path)
    (tmp_path / name).write_text(content)
    with pytest.raises(ModelError, match=message):
        find_tokenizer(tmp_path)


def test_merges_that_are_no_text_are_refused(tmp_path):
    vocab_and_merges(tmp_path)
    (tmp_path / "merges.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(ModelError, match=r"merges\.txt must be UTF-8; it cannot be read"):
        find_tokenizer(tmp_path)
