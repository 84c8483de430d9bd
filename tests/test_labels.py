import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention.labels import byte_alphabet, visible


@pytest.mark.parametrize(
    ("piece", "label"),
    [
        (" ", "␣"),
        ("\n", "\\n"),
        ("\t", "\\t"),
        ("\r", "\\r"),
        (" two  words", "␣two␣␣words"),
        ("\x00", "<0x00>"),
        ("\x7f", "<0x7F>"),
        ("\u200b", "<U+200B>"),
        ("\u202e", "<U+202E>"),  # turns the text behind it round
        ("\u00a0", "<U+00A0>"),
        ("\u2028", "<U+2028>"),
        ("\u3164", "<U+3164>"),  # a Hangul "letter" without a picture
        ("\u2800", "<U+2800>"),
        ("\u0301", "◌\u0301"),
        ("e\u0301", "e\u0301"),
        ("", "<empty>"),
        ("</script><b>", "</script><b>"),
        ("😀", "😀"),
        ("שלום", "שלום"),
    ],
)
def test_label_of_a_text(piece, label):
    assert visible(piece) == label
    assert visible(piece.encode()) == label


@pytest.mark.parametrize(
    ("piece", "label"),
    [
        (b"\xf0", "<0xF0>"),
        (b"\x9f\x98\x80", "<0x9F><0x98><0x80>"),
        (b"a\xc3", "a<0xC3>"),
        (b"\xa1n", "<0xA1>n"),
        (b"\xf0\x9f", "<0xF0><0x9F>"),
        (b" \xe4\xbd", "␣<0xE4><0xBD>"),
    ],
)
def test_label_of_bytes_that_are_part_of_a_character(piece, label):
    assert visible(piece) == label


@given(st.binary())
def test_label_of_any_bytes_is_never_empty_or_invisible(piece):
    label = visible(piece)
    assert label
    assert all(unicodedata.category(char)[0] not in "CZ" for char in label)


@given(st.text())
def test_label_of_any_text_is_never_empty_or_invisible(piece):
    label = visible(piece)
    assert label
    assert all(unicodedata.category(char)[0] not in "CZ" for char in label)
    assert unicodedata.category(label[0])[0] != "M"  # it would sit on what stands before it


def test_byte_alphabet_is_that_of_gpt2():
    alphabet = byte_alphabet()
    assert sorted(alphabet.values()) == list(range(256))
    assert alphabet["Ġ"] == 0x20
    assert alphabet["Ċ"] == 0x0A
    assert alphabet["A"] == 0x41
    assert alphabet["Ã"] == 0xC3
