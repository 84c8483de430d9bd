from attention.colours import COLOURS, SPARE, colour_of
from attention.implementations import IMPLEMENTATIONS
from components.theme import MARKS


def test_every_way_to_run_the_heads_has_a_colour_and_a_mark_of_its_own():
    assert set(COLOURS) == set(IMPLEMENTATIONS) == set(MARKS)
    assert len(set(COLOURS.values())) == len(COLOURS)
    assert len({mark.symbol for mark in MARKS.values()}) == len(MARKS)


def test_one_without_a_colour_gets_a_spare_one():
    assert colour_of("new") == SPARE
    assert SPARE not in COLOURS.values()
