"""The tokens, and what one of them looks at: what is sent to the browser."""

import numpy as np

from attention.tokens import Tokens
from components.looks import Look
from components.parts.strip import STEPS, Row, shades_data, strip_data
from components.theme import LIGHT

TOKENS = Tokens.from_ids((3, 1, 4, 1, 5))


def sent(row, look=None):
    header, body = shades_data(TOKENS, row, look or Look(), 1.0, LIGHT)
    count = header["count"]
    weights = np.frombuffer(body[: 4 * count], dtype="<f4")
    shades = np.frombuffer(body[4 * count :], dtype=np.uint8) / STEPS
    return header, weights, shades


def test_weights_are_sent_exactly_and_shades_by_the_look():
    weights = np.array([np.nan, np.nan, 0.25, 0.75, np.nan], dtype=np.float32)
    header, found, shades = sent(Row(weights, 3, window=2))
    np.testing.assert_array_equal(found, weights)
    np.testing.assert_allclose(shades, [0, 0, 0.25, 0.75, 0], atol=1 / STEPS)
    assert (header["query"], header["first"], header["window"]) == (3, 2, 2)
    _, _, logs = sent(Row(weights, 3), Look(log=True))
    assert logs[2] > 0.75


def test_first_token_in_sight_is_the_first_of_the_text_where_the_window_reaches_it():
    row = np.array([np.nan, 1.0], dtype=np.float32)
    assert [Row(row, 1, window).first for window in (None, 1, 2, 3)] == [0, 1, 0, 0]


def test_tokens_are_named_so_that_no_other_text_is_shaded():
    row = Row(np.zeros(5, dtype=np.float32), 4)
    assert strip_data(TOKENS)["run"] == sent(row)[0]["run"]
    assert strip_data(TOKENS)["run"] != strip_data(Tokens.from_ids((3, 1, 4, 1, 6)))["run"]


def test_tokens_are_sent_with_their_places_in_the_text():
    tokens = Tokens("a😀", (1, 2, 3), ("a", "0xF0", "0x9F"), ((0, 1), (1, 2), (1, 2)))
    data = strip_data(tokens)
    assert data["labels"] == ["a", "0xF0", "0x9F"]
    assert (data["text"], data["offsets"]) == ("a😀", [[0, 1], [1, 2], [1, 2]])
