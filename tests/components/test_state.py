"""What the address may hold."""

import pytest
from streamlit.testing.v1 import AppTest

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


def _number():
    """A page with a number that a button sets too."""
    import streamlit as st

    from components import state

    state.begin()
    st.button("Third", on_click=state.put, args=("layer", 3))
    st.number_input(
        "Layer",
        0,
        9,
        state.whole("layer"),
        key=state.slot("layer"),
        on_change=state.take,
        args=("layer",),
    )


@pytest.fixture
def page():
    return AppTest.from_function(_number).run()


def test_widget_follows_what_is_set_elsewhere(page):
    page.button[0].click().run()
    assert page.number_input[0].value == page.session_state["layer"] == 3
    page.number_input[0].set_value(5).run()
    assert page.number_input[0].value == page.session_state["layer"] == 5


def test_widget_stays_the_same_one_while_the_reader_uses_it(page):
    first = page.number_input[0].id
    for value in (4, 5):
        page.number_input[0].set_value(value).run()
        assert page.session_state["layer"] == value
    assert page.number_input[0].id == first  # another one would lose the keyboard's focus


def test_what_a_widget_showed_before_undoes_no_choice(page):
    """A message that was sent before the answer to a choice holds what the widgets were then."""
    page.number_input[0].set_value(7).run()
    before = page._tree.get_widget_states()
    page.button[0].click().run()
    page._run(before)
    assert page.number_input[0].value == page.session_state["layer"] == 3
