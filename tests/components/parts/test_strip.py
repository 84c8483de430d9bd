"""The text itself, shaded through the tokens' spans."""

import numpy as np

from attention.tokens import Tokens
from components.looks import Look
from components.parts.strip import Row, pieces, strip_data
from components.theme import LIGHT


def joined(found):
    return "".join(text for text, *_ in found)


def test_pieces_give_back_the_text():
    text = "the cat"
    found = pieces(text, ((0, 0), (0, 3), (3, 7)), (0.1, 0.2, 0.7), 2)
    assert joined(found) == text
    assert found == [("the", 0.2, False, False), (" cat", 0.7, True, False)]


def test_bytes_of_one_character_add_up():
    found = pieces("a😀", ((0, 1), (1, 2), (1, 2), (1, 2)), (0.25, 0.25, 0.25, 0.25), 3)
    assert found == [("a", 0.25, False, False), ("😀", 0.75, True, False)]


def test_shade_is_one_at_most():
    assert pieces("é", ((0, 1), (0, 1)), (0.9, 0.9), 1)[0][1] == 1.0


def test_what_comes_after_the_query_is_marked():
    found = pieces("abc", ((0, 1), (1, 2), (2, 3)), (1, 0, 0), 0)
    assert [later for *_, later in found] == [False, True, True]


def test_text_beyond_the_tokens_shown_is_left_out():
    assert joined(pieces("abcdef", ((0, 2), (2, 4)), (0, 0), 1)) == "abcd"


def test_text_that_no_token_covers_has_no_shade():
    found = pieces("a b", ((0, 1), (2, 3)), (0.5, 0.5), 1)
    assert found[1] == (" ", 0.0, False, True)


def test_right_to_left_text_keeps_the_order_of_the_source():
    text = "שלום"
    spans = tuple((place, place + 1) for place in range(4))
    assert joined(pieces(text, spans, (0, 0, 0, 1), 3)) == text


def test_no_text_has_no_pieces():
    assert pieces("", ((0, 0),), (1.0,), 0) == []


def test_each_token_says_what_the_query_sees_of_it():
    tokens = Tokens.from_ids((3, 1, 4, 1, 5))
    weights = np.array([np.nan, np.nan, 0.25, 0.75, np.nan], dtype=np.float32)
    data = strip_data(tokens, Row(weights, 3, window=2), Look(), 1.0, LIGHT)
    before = "cannot be looked at: before the window of 2 tokens"
    later = "cannot be looked at: a later token"
    assert data["said"] == [before, before, "weight 0.25", "weight 0.75", later]
    assert data["shades"] == [0, 0, 0.25, 0.75, 0]
    assert data["first"] == 2


def test_first_token_in_sight_is_the_first_of_the_text_where_the_window_reaches_it():
    row = np.array([np.nan, 1.0], dtype=np.float32)
    assert [Row(row, 1, window).first for window in (None, 1, 2, 3)] == [0, 1, 0, 0]
    tokens = Tokens.from_ids((3, 1))
    said = strip_data(tokens, Row(row, 1, 2), Look(), 1.0, LIGHT)["said"]
    assert said == ["hidden: first token", "weight 1"]


def test_what_comes_before_the_window_is_marked():
    found = pieces("abc", ((0, 1), (1, 2), (2, 3)), (0, 1, 0), 1, first=1)
    assert [unseen for *_, unseen in found] == [True, False, True]
