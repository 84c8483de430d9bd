"""The ways to run the heads that the sidebar offers."""

import pytest
from streamlit.testing.v1 import AppTest

from attention.implementations import IMPLEMENTATIONS
from tests import builders


def script():
    from components import messages, sidebar, state

    state.begin()
    messages.begin()
    sidebar.controls()
    state.end()


def open_page(**query):
    page = AppTest.from_function(script, default_timeout=60)
    for name, value in query.items():
        page.query_params[name] = value
    page.run()
    assert not page.exception
    return page


def ways(page):
    return page.button_group(key="implementation_widget")


def test_every_way_that_the_model_can_be_run_in_is_offered_on_request():
    page = open_page()
    assert ways(page).options == ["Loop", "Batch", "SDPA"]
    page.checkbox(key="offer_all_ways").check().run()
    offered = ways(page).options
    assert offered[:3] == ["Loop", "Batch", "SDPA"]
    possible = [IMPLEMENTATIONS[name].title for name in builders.ways()]
    assert "PyTorch MHA" not in possible  # it takes no rotary positions
    assert set(offered) == set(possible) - {"Reference"}  # which takes too long


@pytest.mark.parametrize(
    ("way", "sentence"),
    [
        ("reference", "Reference takes seconds for a sentence"),
        ("torch", "rotary positions must be off for torch"),
    ],
)
def test_way_that_is_not_for_this_model_is_refused_with_the_reason(way, sentence):
    page = open_page(implementation=way)
    [warning] = [alert.value.replace("\\", "") for alert in page.warning]
    assert sentence in warning
    assert warning.endswith("batched is used.")
    assert ways(page).value == "batched"


def test_way_that_is_left_out_is_told_with_the_reason():
    told = open_page().checkbox(key="offer_all_ways").help.replace("\\", "")
    assert "PyTorch MHA: rotary positions must be off for torch" in told
    assert "got" not in told
    assert "Einsum" not in told


def test_way_in_the_address_is_offered_without_asking():
    page = open_page(implementation="vmap")
    assert ways(page).value == "vmap"
    assert "Grouped" in ways(page).options
