"""Explore with a model of one's own: token ids, BOS, and a model that takes long."""

import pytest

from components.parts import timing
from components.views import explore
from tests.components.explore_page import charts, component, measured, open_page, said, typed
from tests.components.model_page import saved


@pytest.fixture
def without_tokenizer(models_folder):
    return saved(models_folder / "small", vocab_size=101)


def test_model_without_a_tokenizer_says_that_it_takes_ids_and_offers_some(without_tokenizer):
    page = open_page(model=without_tokenizer, text="the cat")
    assert len(said(page)) == 1
    assert "token ids from 0 to 100, such as 1 2 3" in said(page)[0]
    assert "'the'" in said(page)[0]
    assert charts(page) == {}
    assert page.text_area[0].value == "the cat"
    page.button(key="example_ids").click().run()
    assert said(page) == []
    ids = page.text_area[0].value.split()
    assert component(page, "strip")["labels"] == ids
    assert ids[: len(ids) // 2] == ids[len(ids) // 2 :]


def test_ids_are_run_as_they_are_and_the_samples_make_room(without_tokenizer):
    page = open_page(model=without_tokenizer, text="7, 1 2 3 1 2 3")
    assert said(page) == []
    assert component(page, "strip")["labels"] == ["7", "1", "2", "3", "1", "2", "3"]
    assert any("no tokenizer" in note.value for note in page.caption)
    assert "sample" not in [group.key for group in page.button_group]


def test_id_that_the_model_does_not_know_is_one_sentence(without_tokenizer):
    page = typed(open_page(model=without_tokenizer, text="1 2 3"), "1 2 101")
    assert len(said(page)) == 1
    assert "got 101" in said(page)[0]
    assert charts(page) == {}


def test_text_box_takes_texts_again_with_a_model_that_reads_them(without_tokenizer):
    page = open_page(model=without_tokenizer, text="1 2 3")
    page.session_state["model"] = "embedded"
    page.run()
    assert component(page, "strip")["labels"][0] == "<bos>"
    assert "sample" in [group.key for group in page.button_group]


def test_bos_can_be_left_out():
    page = open_page(text="the cat")
    assert component(page, "strip")["labels"][0] == "<bos>"
    page.button_group(key="bos_widget").set_value("off").run()
    assert said(page) == []
    assert component(page, "strip")["labels"][0] != "<bos>"
    assert page.query_params["bos"] in ("off", ["off"])


def test_bos_is_no_choice_where_there_is_none(without_tokenizer):
    page = open_page(model=without_tokenizer, text="1 2")
    assert page.button_group(key="no_bos").disabled


def test_text_that_many_heads_would_take_minutes_for_is_cut(models_folder, monkeypatch):
    monkeypatch.setattr(explore, "MOST_WEIGHTS", 3 * 5 * 5)  # 3 heads in a layer, 5 tokens
    source = saved(models_folder / "small", vocab_size=101)
    page = open_page(model=source, text="1 2 3 4 5 6 7")
    assert len(said(page)) == 1
    assert "7 tokens and this page draws 5 with so many heads" in said(page)[0]
    assert component(page, "strip")["labels"] == ["1", "2", "3", "4", "5"]


def test_text_that_takes_long_is_timed_on_request_only(monkeypatch):
    monkeypatch.setattr(timing, "SLOW_S", 0.0)
    page = open_page(text="a text that nobody has timed before")
    assert "detail" in charts(page)
    assert component(page, "bars") is None
    assert any("press “Measure again”" in note.value for note in page.markdown)
    page.button(key="measure_again").click().run()
    assert len(measured(page)["rows"]) == 3
    page.run()
    assert len(component(page, "bars")["rows"]) == 3
