"""Explore with a text too long for whole heads to be held or drawn."""

import threading

import pytest

from attention.loading import load_model
from components import derived
from components.parts import overview, tiles, timing
from components.scanning import Scan
from components.views import explore
from tests.components.explore_page import (
    charts,
    component,
    components,
    open_page,
    said,
    typed,
)
from tests.components.model_page import saved

LENGTH = 521


@pytest.fixture
def opened(models_folder):
    source = saved(models_folder / "small", vocab_size=101, context_length=1024)
    ids = " ".join(str(i * 37 % 101) for i in range(LENGTH))
    return {"model": source, "text": ids}


def test_long_text_gets_the_picture_to_zoom_into(opened):
    page = open_page(**opened, layer=1, head=2, query=7)
    assert set(charts(page)) == {"grid"}
    viewer = component(page, "tiles")
    assert viewer["count"] == len(viewer["labels"]) == LENGTH
    assert viewer["base"] == [0, 0, LENGTH, LENGTH, 1, LENGTH, LENGTH]
    assert viewer["query"] == 7
    told = [link for link in components(page, "link") if link["name"] == "query"]
    assert told == [{"name": "query", "value": 7, "event": "query"}]
    assert sum(weight for _, weight in viewer["keys"]) == pytest.approx(1, abs=1e-5)
    assert said(page) == []


def test_up_to_512_tokens_it_stays_a_heatmap(opened):
    shorter = " ".join(opened["text"].split()[:512])
    page = open_page(model=opened["model"], text=shorter)
    assert set(charts(page)) == {"grid", "detail"}
    assert component(page, "tiles") is None


def test_strongest_weights_are_a_table(opened):
    page = open_page(**opened, layer=0, head=0)
    page.session_state["weights_table"] = True
    page.run()
    first = page.code[-1].value.splitlines()[1].split()
    model = load_model(opened["model"])
    pattern = model.run([int(i) for i in opened["text"].split()]).pattern(0, 0)
    query, key, weight = int(first[0]), int(first[2]), float(first[4])
    assert weight == pytest.approx(pattern[query, key], rel=1e-3)
    assert pattern[query, key] == pattern.max()


def test_browser_that_cannot_draw_it_gets_a_plain_picture(opened):
    page = open_page(**opened)
    page.session_state[tiles.MISSING] = True
    page.run()
    assert not page.exception
    assert component(page, "tiles") is None
    assert len(page.get("image")) == 1
    assert any("cannot draw the picture to zoom into" in each.value for each in page.caption)


class Waiting:
    """Keeps layers from being looked at in the background until it is told to let them."""

    def __init__(self):
        self.turn = threading.Lock()
        self.scans = []
        self.turn.acquire()

    def scan(self, *args, **_):
        self.scans.append(Scan(*args, turn=self.turn))
        return self.scans[-1]

    def let(self):
        self.turn.release()
        for scan in self.scans:
            scan._thread.join(20)


@pytest.fixture
def waiting(monkeypatch):
    waiting = Waiting()
    monkeypatch.setattr(derived, "AT_ONCE", 0)
    monkeypatch.setattr(derived, "Scan", waiting.scan)
    return waiting


def map_asks_again(page):
    """Whether the map has the page run again soon; the strip, which does too, waits differently."""
    return any(data["wait"] != timing.AGAIN_MS for data in components(page, "again"))


@pytest.mark.parametrize("all_heads", [0, 1])
def test_chosen_layer_is_there_first_and_the_others_follow(opened, waiting, all_heads):
    page = open_page(**opened, layer=1, all_heads=all_heads)
    assert component(page, "overview")["done"] == [1]
    assert "1 of 2 layers looked at" in captions(page)
    assert map_asks_again(page)
    assert "told once all have been looked at" in page.markdown[0].value
    waiting.let()
    page.run()
    assert component(page, "overview")["done"] == [0, 1]
    assert not map_asks_again(page)
    assert "layers looked at" not in captions(page)
    assert "told once all have been looked at" not in page.markdown[0].value


def test_layer_that_comes_while_the_map_is_drawn_is_drawn_soon(opened, monkeypatch, waiting):
    drawn = overview.draw

    def draw_and_finish(*args, **kwargs):
        drawn(*args, **kwargs)
        if waiting.turn.locked():
            waiting.let()

    monkeypatch.setattr(overview, "draw", draw_and_finish)
    page = open_page(**opened, layer=1)
    assert component(page, "overview")["done"] == [1]
    assert map_asks_again(page)
    page.run()
    assert component(page, "overview")["done"] == [0, 1]
    assert not map_asks_again(page)


@pytest.mark.usefixtures("waiting")
def test_looking_at_the_others_is_stopped_and_goes_on(opened):
    page = open_page(**opened, layer=1)
    page.button(key="stop_small").click().run()
    assert not page.exception
    assert not map_asks_again(page)
    page.button(key="go_on_small").click().run()
    assert map_asks_again(page)


def captions(page):
    return " ".join(each.value.replace("\\", "") for each in page.caption)


def test_text_is_cut_sooner_where_patterns_are_held_while_the_model_runs(opened, monkeypatch):
    monkeypatch.setattr(explore, "MOST_HELD", 3 * 31 * 31)
    page = open_page(**opened, implementation="batched")
    assert "draws 31 with so many heads run in this way, 1,024 as SDPA" in said(page)[0]
    page = open_page(**opened, implementation="sdpa")
    assert component(page, "tiles")["count"] == LENGTH


def test_overview_is_sent_once_and_again_for_another_head(opened):
    page = open_page(**opened)
    assert component(page, "tiles")["base"]
    page.run()
    assert component(page, "tiles")["base"] is None
    page.session_state["head"] = 1
    page.run()
    assert component(page, "tiles")["base"]
    assert component(page, "tiles")["labels"] is None


def test_browser_that_begins_anew_gets_the_labels_again(opened):
    page = open_page(**opened)
    assert component(page, "tiles")["labels"]
    page.session_state[tiles.ASKED] = {"number": 5, "has": ""}
    page.run()
    assert component(page, "tiles")["base"]
    assert len(component(page, "tiles")["labels"]) == LENGTH
    typed(page, opened["text"] + " 7")
    assert len(component(page, "tiles")["labels"]) == LENGTH + 1
