"""What the address may hold."""

import pytest

from components.state import ENTRIES, bounds, choice, number, switch


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=list(ENTRIES))
def test_default_survives_the_address(entry):
    default = entry.default
    written = str(int(default)) if isinstance(default, bool) else str(default)
    assert entry.read(written) == default
    assert type(entry.read(written)) is type(default)


@pytest.mark.parametrize("written", ["", "x", "1.5", "-1", "8", "٣", "1e1", "0x1"])
def test_number_refuses_what_is_no_whole_number_within_bounds(written):
    with pytest.raises(ValueError, match=r".*"):
        number("n", 1, least=0, most=7).read(written)


@pytest.mark.parametrize("written", ["", "TRUE", "2"])
def test_switch_refuses_all_but_one_and_zero(written):
    with pytest.raises((ValueError, KeyError)):
        switch("s").read(written)


def test_choice_refuses_other_words():
    with pytest.raises(ValueError, match="jet"):
        choice("c", "cividis", "viridis").read("jet")


def test_bounds_are_those_of_the_entry():
    assert bounds("batch") == (1, 256)
