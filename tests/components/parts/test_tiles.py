"""The choice of a token in the picture of a long text, as it comes back."""

import pytest

from components import state
from components.parts import tiles


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (0, {"query": 0}),
        (700, {"query": 700}),
        (701, {}),  # of a longer text, before this one's picture was there
        (-1, {}),
        (True, {}),
        (3.0, {}),
        ("3", {}),
        ([3], {}),
        (None, {}),
    ],
)
def test_choice_is_taken_as_far_as_there_is_such_a_token(choice, expected, monkeypatch):
    taken = {}
    monkeypatch.setattr(tiles, "event", lambda _key, _name: choice)
    monkeypatch.setattr(state, "put", taken.__setitem__)
    tiles._choose(701)
    assert taken == expected
