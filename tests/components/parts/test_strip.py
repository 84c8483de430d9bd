"""The text itself, shaded through the tokens' spans."""

from components.parts.strip import pieces


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
