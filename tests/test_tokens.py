import unicodedata

import numpy as np
import pytest
import regex
import tokenizers
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import models, pre_tokenizers

from attention.errors import ModelError, TextError
from attention.tokens import Tokenizer, Tokens
from tests.builders import byte_level_backend

TOKENIZER = Tokenizer(byte_level_backend())
BOS = TOKENIZER.backend.token_to_id("<bos>")

# Texts of the kind that broke other programs, beside whatever hypothesis finds.
KINDS = st.one_of(
    st.text(),
    st.text(alphabet="ab \n\t\r\u00a0"),
    st.lists(
        st.sampled_from(
            [
                "the cat",
                " ",
                "\n",
                "e\u0301",
                "é",
                "😀",
                "👩‍👩‍👧",
                "🇩🇪",
                "你好",
                "שלום",
                "\u0301",
                "\u200d",
                "a",
            ]
        )
    ).map("".join),
)


def spans_of(tokens):
    return [tokens.text[start:end] for start, end in tokens.offsets]


# ------------------------------------------------------------------ the cases


def test_bytes_of_a_character_have_the_span_of_the_character():
    # Peers label them `Ã¡` and `�` and shift every later span.
    tokens = TOKENIZER.encode("Seán 😀 你好")
    assert tokens.labels == (
        *("<bos>", "S", "e", "<0xC3>", "<0xA1>", "n", "␣"),
        *("<0xF0>", "<0x9F>", "<0x98>", "<0x80>", "␣"),
        *("<0xE4>", "<0xBD>", "<0xA0>", "<0xE5>", "<0xA5>", "<0xBD>"),
    )
    assert spans_of(tokens) == [
        *("", "S", "e", "á", "á", "n", " "),
        *("😀", "😀", "😀", "😀", " "),
        *("你", "你", "你", "好", "好", "好"),
    ]


def test_newlines_and_tabs_are_visible():
    tokens = TOKENIZER.encode("a\n\n\tb")
    assert tokens.labels == ("<bos>", "a", "\\n", "\\n", "\\t", "b")
    assert tokens.offsets == ((0, 0), (0, 1), (1, 2), (2, 3), (3, 4), (4, 5))


def test_blanks_do_not_vanish():
    tokens = TOKENIZER.encode("  two  spaces ")
    assert "".join(tokens.labels[1:]) == "␣␣two␣␣spaces␣"
    assert "".join(spans_of(tokens)) == "  two  spaces "


def test_markup_is_text():
    text = "</script><b>x</b><style>*{display:none}</style>"
    tokens = TOKENIZER.encode(text)
    assert "".join(tokens.labels[1:]) == text
    assert "".join(spans_of(tokens)) == text


def test_bos_comes_once_and_has_no_span():
    tokens = TOKENIZER.encode("the cat")
    assert tokens.ids.count(BOS) == 1
    assert (tokens.ids[0], tokens.labels[0], tokens.offsets[0]) == (BOS, "<bos>", (0, 0))
    assert len(tokens) == len(tokens.ids) == len(tokens.labels) == len(tokens.offsets) == 3


def test_right_to_left_and_combining_spans_keep_whole_characters_in_order():
    tokens = TOKENIZER.encode("שלום e\u0301")
    assert "".join(dict.fromkeys(spans_of(tokens))) == "שלום e\u0301"
    assert tokens.offsets[-3:] == ((5, 7), (5, 7), (5, 7))  # e and the two bytes of its accent


def test_repeated_words_have_spans_of_their_own():
    assert spans_of(TOKENIZER.encode("the cat the cat")) == ["", "the", " cat", " the", " cat"]


@pytest.mark.parametrize("text", ["", " ", "\n\n\n", "\x00\x01"])
def test_blank_texts_are_read(text):
    assert "".join(spans_of(TOKENIZER.encode(text))) == text


# ------------------------------------------------------------------ for every text


@given(KINDS)
@example("<bos>")
@example("\u0301")
def test_every_text_comes_back_and_spans_run_in_order_on_character_bounds(text):
    tokens = TOKENIZER.encode(text)
    if "<bos>" not in text:
        assert TOKENIZER.decode(tokens.ids) == text
    spans = tokens.offsets if text.startswith("<bos>") else tokens.offsets[1:]
    bounds = {0} | {cluster.end() for cluster in regex.finditer(r"\X", text)}
    assert all(start in bounds and end in bounds and start < end for start, end in spans)
    assert list(spans) == sorted(spans)
    covered = {i for start, end in spans for i in range(start, end)}
    assert covered == set(range(len(text)))


@given(KINDS)
def test_labels_are_never_empty_or_invisible(text):
    for label in TOKENIZER.encode(text).labels:
        assert label
        assert all(unicodedata.category(char)[0] not in "CZ" for char in label)


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize("code", [0xD800, 0xD83D, 0xDC00, 0xDFFF])
def test_half_of_a_surrogate_pair_is_refused(code):
    with pytest.raises(TextError, match=rf"character 3 is U\+{code:04X}, half of"):
        TOKENIZER.encode(f"ab{chr(code)}")


def test_text_that_the_tokenizer_has_no_token_for_is_refused():
    # The library raises a bare Exception.
    backend = tokenizers.Tokenizer(models.WordLevel({"a": 0}, unk_token="?"))
    match = r"must be readable for the model's tokenizer; it has no token for 'b' \(U\+0062\)\."
    with pytest.raises(TextError, match=match):
        Tokenizer(backend).encode("b")


def test_text_that_a_second_opinion_reads_otherwise_is_refused():
    ids = Tokenizer(byte_level_backend()).encode("the cat").ids[1:]
    agreed = {"the cat": ids, "cat": (5,)}
    tokenizer = Tokenizer(byte_level_backend(), check=agreed.__getitem__)
    assert tokenizer.encode("the cat").ids[1:] == ids
    with pytest.raises(TextError, match=r"must be split alike by SentencePiece and .* token 1 on"):
        tokenizer.encode("cat")
    assert tokenizer.encode("<bos>").labels == ("<bos>",)  # it does not know added tokens


def test_missing_tokenizer_file_is_refused(tmp_path):
    with pytest.raises(ModelError, match=r"tokenizer\.json does not exist"):
        Tokenizer.from_file(tmp_path / "tokenizer.json")


@pytest.mark.parametrize("content", [b"", b"{}", b"[1, 2", b"\xff\xfe"])
def test_broken_tokenizer_file_is_refused(tmp_path, content):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"must be a tokenizer\.json; it cannot be read"):
        Tokenizer.from_file(path)


# ------------------------------------------------------------------ other tokenizers


def test_blank_put_before_the_text_has_no_span_of_its_own():
    backend = byte_level_backend(bos=False)
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokens = Tokenizer(backend).encode("the cat")
    assert tokens.labels == ("␣the", "␣cat")
    assert tokens.offsets[0] == (0, 3)
    assert tokens.offsets[1][1] == 7


# ------------------------------------------------------------------ from ids


def test_ids_are_labelled_and_get_no_bos():
    ids = TOKENIZER.encode("the cat").ids[1:]
    tokens = Tokens.from_ids(ids, TOKENIZER)
    assert tokens.ids == ids
    assert tokens.labels == ("the", "␣cat")
    assert tokens.offsets == ((0, 0), (0, 0))
    assert tokens.text == ""


def test_ids_without_a_tokenizer_are_their_own_labels():
    assert Tokens.from_ids([7, 11]).labels == ("7", "11")


@pytest.mark.parametrize(
    "ids", [np.array([7, 11]), list(np.array([7, 11])), torch.tensor([7, 11]), iter([7, 11])]
)
def test_ids_of_other_libraries_become_plain_numbers(ids):
    tokens = Tokens.from_ids(ids)
    assert tokens.ids == (7, 11)
    assert {type(i) for i in tokens.ids} == {int}


@pytest.mark.parametrize("wrong", [1.0, "1", None, True, np.float64(1), torch.tensor(1.0)])
def test_id_that_is_no_whole_number_is_refused(wrong):
    with pytest.raises(TextError, match="must be whole numbers; got"):
        Tokens.from_ids(iter([1, wrong]))  # the shape checker does not see into an iterator


def test_first_tokens_keep_text_and_spans():
    tokens = TOKENIZER.encode("the cat sat").first(2)
    assert (tokens.ids, tokens.labels) == (TOKENIZER.encode("the").ids, ("<bos>", "the"))
    assert (tokens.text, tokens.offsets) == ("the cat sat", ((0, 0), (0, 3)))


def test_added_tokens_follow_and_have_no_span():
    tokens = TOKENIZER.encode("the") + Tokens.from_ids([5], TOKENIZER)
    assert len(tokens) == 3
    assert tokens.offsets == ((0, 0), (0, 3), (0, 0))
    assert tokens.text == "the"


@pytest.mark.usefixtures("as_in_use")
@pytest.mark.parametrize("ids", [b"ab", bytearray(b"ab"), {1, 2}, {1: 2}, None, 5])
def test_what_is_no_row_of_ids_is_refused(ids):
    # Bytes were read as token ids, a set in an order of its own.
    with pytest.raises(TextError, match="text must be a text or a row of token ids; got "):
        Tokens.from_ids(ids)


@pytest.mark.usefixtures("as_in_use")
def test_tokens_with_a_label_too_few_or_half_an_id_are_refused():
    with pytest.raises(TextError, match="must be equally many; got 2, 1 and 2"):
        Tokens("ab", (1, 2), ("a",), ((0, 1), (1, 2)))
    with pytest.raises(TextError, match=r"token ids must be whole numbers; got 1\.5"):
        Tokens("a", (1.5,), ("a",), ((0, 1),))
