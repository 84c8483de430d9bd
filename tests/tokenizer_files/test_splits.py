import pytest
from hypothesis import given, settings
from tokenizers import pre_tokenizers
from transformers.integrations.gguf.gguf_tokenizer_mapping import GGUF_PRE_TOKENIZER_SPLITS

from attention.tokenizer_files.splits import (
    DEFAULT_WORDS,
    GPT2,
    GPT2_WORDS,
    LLAMA3_WORDS,
    QWEN2_WORDS,
    SINGLE_DIGITS,
    WORD_SPLITS,
    WordSplit,
)
from tests.tokenizer_files.samples import TEXTS

KNOWN = sorted(set(WORD_SPLITS) & set(GGUF_PRE_TOKENIZER_SPLITS))


def words(split, text):
    """The pieces of the text, out of the byte alphabet again."""
    return [text[start:end] for _, (start, end) in split.pre_tokenizer().pre_tokenize_str(text)]


@pytest.mark.parametrize(
    ("split", "text", "expected"),
    [
        (GPT2_WORDS, "it's 123  a\n\nb", ["it", "'s", " 123", " ", " a", "\n", "\n", "b"]),
        (GPT2_WORDS, "IT'S", ["IT", "'", "S"]),
        (SINGLE_DIGITS, "a 123b", ["a", " ", "1", "2", "3", "b"]),
        (
            LLAMA3_WORDS,
            "IT'S 12345 (a)\n\n b",
            ["IT", "'S", " ", "123", "45", " (", "a", ")\n\n", " b"],
        ),
        (QWEN2_WORDS, "12 (a)", ["1", "2", " (", "a", ")"]),
        (WORD_SPLITS["qwen35"], "e\u0301x", ["e\u0301x"]),
        (WORD_SPLITS["tekken"], "HelloWorld 12", ["Hello", "World", " ", "1", "2"]),
        (WORD_SPLITS["gpt-4o"], "HelloWorld's 1234", ["Hello", "World's", " ", "123", "4"]),
        (DEFAULT_WORDS, "a+b 12345.", ["a", "+", "b", " ", "123", "45", "."]),
    ],
)
def test_words_are_cut_as_worked_out_by_hand(split, text, expected):
    assert words(split, text) == expected


@pytest.mark.parametrize("name", KNOWN)
def test_expressions_are_those_of_transformers(name):
    assert GGUF_PRE_TOKENIZER_SPLITS[name] in WORD_SPLITS[name].patterns


@given(TEXTS)
def test_our_expression_of_gpt2_is_the_librarys_own(text):
    own = pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str(text)
    assert WordSplit((r"(?!)", GPT2)).pre_tokenizer().pre_tokenize_str(text) == own


@given(TEXTS)
def test_single_digits_are_the_librarys_own(text):
    # As the tokenizer.json of SmolLM2 has it.
    own = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(False)]
    )
    ours = SINGLE_DIGITS.pre_tokenizer().pre_tokenize_str(text)
    assert ours == own.pre_tokenize_str(text)


@pytest.mark.parametrize("split", list(dict.fromkeys(WORD_SPLITS.values())))
@settings(max_examples=30)
@given(TEXTS)
def test_no_character_is_left_out(split, text):
    assert "".join(words(split, text)) == text


@pytest.mark.parametrize("name", ["qwen2", "qwen35", "olmo"])
def test_text_is_composed_where_the_models_tokenizer_does_it(name):
    assert WORD_SPLITS[name].normalizer.normalize_str("e\u0301") == "é"
    assert WORD_SPLITS["gpt-2"].normalizer is None
