"""Which model is shown: the one asked for once it is open, else the one before."""

import gc
import threading
import weakref

import pytest

from attention import loading, memory
from components import model_choice, resources
from components.opening import Asked
from components.shelf import Shelf
from tests import builders
from tests.components.model_page import (
    address,
    book_file,
    look_behind_the_button,
    open_page,
    pick,
    said,
    saved,
    seen,
    type_in,
)

LIMIT_S = 30


@pytest.fixture(autouse=True)
def shelf(monkeypatch):
    """No model of another test is in memory."""
    own = Shelf(resources._load)
    monkeypatch.setattr(resources, "shelf", lambda: own)
    return own


@pytest.fixture
def small(models_folder):
    return saved(models_folder / "small", num_layers=1)


def test_model_that_was_found_is_opened_and_named_in_the_address(small, shelf):
    page = open_page()
    pick(page, "small")
    assert said(page) == []
    assert seen(page).source == small
    assert address(page, "model") == small
    assert [held.source for held in shelf._held] == [small], "the one before is freed"


def test_layer_and_head_that_the_new_model_lacks_are_put_into_range_without_a_word(small):
    page = open_page(layer=3, head=7)
    pick(page, "small")
    assert said(page) == []
    assert (page.session_state["layer"], page.session_state["head"]) == (0, 2)


def test_broken_model_is_one_sentence_and_the_one_before_stays(models_folder, small):
    (models_folder / "broken").mkdir()
    (models_folder / "broken" / "model.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0{}")
    page = open_page(model=small)
    type_in(page, str(models_folder / "broken"))
    assert len(said(page)) == 1
    assert "broken" in said(page)[0]
    assert said(page)[0].endswith("small stays open.")
    assert seen(page).source == small
    assert address(page, "model") == small
    page.run()
    assert said(page) == []
    look_behind_the_button(page)
    assert page.text_input(key="model_typed").value == str(models_folder / "broken")
    saved(models_folder / "broken", num_layers=3)
    page.button(key="open_typed").click().run()
    assert seen(page).source == str(models_folder / "broken")


def test_models_are_loaded_in_turns(monkeypatch):
    # Two that each fit would else be found to fit beside each other.
    inside, most = [], []

    def load(source, **_):
        inside.append(source)
        most.append(len(inside))
        threading.Event().wait(0.05)
        inside.remove(source)
        return builders.small_model()

    monkeypatch.setattr(loading, "load_model", load)
    shelf = Shelf(resources._load)
    openings = [shelf.open(Asked(name), name) for name in ("embedded", "/", "/tmp")]
    assert all(opening.wait(LIMIT_S) for opening in openings)
    assert most == [1, 1, 1]


@pytest.mark.parametrize("written", ["nowhere/at/all.gguf", "/etc", "a\0b", "x" * 5000, " ../.. "])
def test_path_that_leads_nowhere_is_one_sentence(written):
    page = open_page()
    type_in(page, written)
    assert len(said(page)) == 1
    assert seen(page).source == "embedded"
    assert address(page, "model") is None


def test_model_too_large_for_the_memory_is_refused_with_both_numbers(small, monkeypatch):
    page = open_page()
    monkeypatch.setattr(memory, "free_memory", lambda device="cpu": 1000)
    pick(page, "small")
    assert len(said(page)) == 1
    assert "1.00 kB" in said(page)[0]
    assert "must be at least" in said(page)[0]
    assert seen(page).source == "embedded"


class Slow:
    """Opens models, but those of a folder of tests only when told to."""

    def __init__(self, load):
        self.go = threading.Event()
        self.load = load

    def __call__(self, asked, progress):
        if asked.source != "embedded":
            progress(1, 4)
            assert self.go.wait(LIMIT_S)
            progress(2, 4)
        return self.load(asked, progress)


@pytest.fixture
def slow(monkeypatch):
    slow = Slow(resources._load)
    own = Shelf(slow)
    monkeypatch.setattr(resources, "shelf", lambda: own)
    return slow


@pytest.fixture
def impatient(monkeypatch):
    """The page does not wait for a model that takes long."""

    def begin():
        monkeypatch.setattr(model_choice, "PATIENCE_S", 0.05)

    return begin


def test_old_model_is_shown_and_in_the_address_until_the_new_one_is_open(small, slow, impatient):
    page = open_page()
    impatient()
    pick(page, "small")
    assert seen(page).source == "embedded"
    assert address(page, "model") is None
    assert page.button(key="stop_opening")
    slow.go.set()
    assert model_choice_opening().wait(LIMIT_S)
    page.run()
    assert seen(page).source == small
    assert address(page, "model") == small


def model_choice_opening():
    [opening] = resources.shelf()._openings.values()
    return opening


def test_stop_keeps_the_old_model_and_opens_nothing(small, slow, impatient):
    page = open_page()
    impatient()
    pick(page, "small")
    opening = model_choice_opening()
    page.button(key="stop_opening").click().run()
    assert opening.stopped
    assert seen(page).source == "embedded"
    assert page.session_state["model"] == "embedded"
    slow.go.set()
    assert opening.wait(LIMIT_S)
    page.run()
    assert seen(page).source == "embedded"
    assert said(page) == []


def test_page_waits_for_its_first_model(impatient):
    impatient()
    page = open_page()
    assert seen(page).source == "embedded"
    assert said(page) == []


def test_link_alone_fetches_nothing(monkeypatch):
    monkeypatch.setattr(resources, "must_be_fetched", lambda source: source != "embedded")
    page = open_page(model="owner/name")
    assert len(said(page)) == 1
    assert "a link alone fetches nothing" in said(page)[0]
    assert seen(page).source == "embedded"
    assert look_behind_the_button(page).text_input(key="model_typed").value == "owner/name"
    page.button(key="open_typed").click().run()
    assert len(said(page)) == 1
    assert "cannot be reached" in said(page)[0]


def test_unloading_frees_the_model_and_shows_the_embedded_one(small, shelf):
    page = open_page(model=small, layer=0)
    model = weakref.ref(shelf.find(seen(page)).model)
    look_behind_the_button(page).button(key="unload").click().run()
    assert seen(page).source == "embedded"
    assert address(page, "model") is None
    gc.collect()
    assert model() is None


def test_model_that_another_tab_unloaded_is_not_opened_again_by_itself(small, shelf):
    page = open_page(model=small)
    shelf.unload(seen(page))
    page.run()
    assert len(said(page)) == 1
    assert "unloaded in another tab" in said(page)[0]
    assert seen(page).source == "embedded"
    pick(page, "small")
    assert seen(page).source == small


def test_new_file_under_the_same_name_is_opened_anew(models_folder, small, shelf):
    page = open_page(model=small)
    before = seen(page)
    saved(models_folder / "small", num_layers=2)
    page.run()
    assert seen(page) != before
    assert shelf.find(seen(page)).model.config.num_layers == 2


def test_number_of_heads_that_a_file_does_not_say_can_be_given(models_folder, shelf):
    models_folder.mkdir()
    source = book_file(models_folder / "book.pth", width=768)
    page = open_page(model=source)
    assert shelf.find(seen(page)).model.config.num_heads == 12  # GPT-2's at this width
    assert any("doesn't say how many" in note.value for note in page.caption)
    page.number_input(key="model_heads_typed").set_value(6).run()
    assert said(page) == []
    assert shelf.find(seen(page)).model.config.num_heads == 6
    assert address(page, "model_heads") == "6"


def test_number_of_heads_is_asked_for_where_nothing_tells_it(models_folder, shelf):
    models_folder.mkdir()
    source = book_file(models_folder / "narrow.pth", width=14)
    page = open_page()
    type_in(page, source)
    assert len(said(page)) == 1
    assert seen(page).source == "embedded"
    field = page.number_input(key="model_heads_typed")
    assert field.label.replace("\\", "") == "Heads in each layer of narrow?"
    field.set_value(7).run()
    assert said(page) == []
    assert shelf.find(seen(page)).model.config.num_heads == 7


def test_number_of_heads_is_not_asked_for_where_the_checkpoint_says_it(small):
    page = open_page(model=small)
    assert [field.label for field in page.number_input if "Heads in" in field.label] == []
