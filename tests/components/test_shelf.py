"""Models in memory: one copy of each, freed when nobody looks at it."""

import gc
import threading
import weakref

import pytest
import torch

from attention.errors import ModelError
from components import derived, shelf
from components.looks import Look
from components.opening import Asked
from components.shelf import Kept, Shelf
from tests import builders

ONE, TWO = Asked("one"), Asked("two")
ANNE, BEN = "Anne's tab", "Ben's tab"
LIMIT_S = 30


@pytest.fixture
def loaded():
    """Weak references to all models that were opened, in order."""
    return []


@pytest.fixture
def models(loaded):
    def load(asked, progress):
        progress(0, 10)
        model = builders.small_model()
        loaded.append(weakref.ref(model))
        return model

    return Shelf(load, grace=0.01)


def look(models, asked, reader):
    """What a tab does to show a model."""
    if models.find(asked) is None:
        opening = models.open(asked, reader)
        assert opening.wait(LIMIT_S)
        models.take(opening, reader)
    models.look_at(asked, reader)


def test_two_tabs_share_one_copy(models, loaded):
    look(models, ONE, ANNE)
    look(models, ONE, BEN)
    assert len(loaded) == 1
    assert models.others(ONE, ANNE) == 1


def test_two_tabs_that_ask_at_once_wait_for_one_opening(models, loaded):
    openings = [models.open(ONE, reader) for reader in (ANNE, BEN)]
    assert openings[0] is openings[1]
    assert openings[0].wait(LIMIT_S)
    for reader in (ANNE, BEN):
        models.take(openings[0], reader)
    assert len(loaded) == 1


@pytest.mark.parametrize(
    "other",
    [
        Asked("one", device="cuda:0"),
        Asked("one", dtype="bfloat16"),
        Asked("one", num_heads=3),
        Asked("one", stamp=7),
    ],
)
def test_another_device_dtype_head_count_or_file_is_another_model(models, other):
    # A changed precision used to give back the old model.
    look(models, ONE, ANNE)
    assert models.find(other) is None


def test_switching_away_frees_a_model_that_nobody_else_looks_at(models, loaded):
    look(models, ONE, ANNE)
    look(models, TWO, ANNE)
    assert models.find(ONE) is None
    assert loaded[0]() is None
    assert loaded[1]() is not None


def test_switching_away_leaves_a_model_that_somebody_else_looks_at(models, loaded):
    look(models, ONE, ANNE)
    look(models, ONE, BEN)
    look(models, TWO, ANNE)
    assert loaded[0]() is not None
    look(models, TWO, BEN)
    assert loaded[0]() is None


def test_closed_tab_frees_its_model_after_a_while(models, loaded):
    look(models, ONE, ANNE)
    models.leave(ANNE)
    deadline = threading.Event()
    for _ in range(300):
        if loaded[0]() is None:
            break
        deadline.wait(0.05)
    assert loaded[0]() is None


def test_tab_that_comes_back_in_time_finds_its_model(loaded):
    models = Shelf(lambda *_: builders.small_model(), grace=60)
    look(models, ONE, ANNE)
    models.leave(ANNE)
    assert models.find(ONE) is not None


def run_and_draw(held):
    """Weak references to what a page makes of a model, and the key under which more is kept."""
    model = held.model
    tokens = held.tokens("a", lambda: model.tokens([1, 2, 3]))
    for way in ("looped", "batched", "capture"):
        record, seconds = held.run(tokens, way)
        assert seconds > 0
    for hide_first in (False, True):
        assert not derived.scan(record, Look(hide_first=hide_first)).missing
    derived.head_pattern(record, 0, 0, Look())
    return [weakref.ref(made) for made in (held, record, record.layers[0].q)], id(record)


def test_unloading_frees_the_model_and_all_that_was_made_with_it(models, loaded):
    look(models, ONE, ANNE)
    look(models, ONE, BEN)
    traces, key = run_and_draw(models.find(ONE))
    assert key in derived._kept
    models.unload(ONE)
    assert models.find(ONE) is None
    assert [trace() for trace in (*traces, *loaded)] == [None] * 4
    assert key not in derived._kept


def test_memory_is_given_back_when_a_model_goes(models, monkeypatch):
    given = []
    monkeypatch.setattr(shelf, "give_back", lambda: given.append(gc.collect()))
    look(models, ONE, ANNE)
    assert not given
    models.unload(ONE)
    assert len(given) == 1


def test_giving_back_empties_the_cache_of_a_gpu(monkeypatch):
    emptied = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: emptied.append(1))
    shelf.give_back()
    assert emptied == [1]


def test_refused_model_leaves_what_is_open_and_can_be_asked_for_again(loaded):
    refused = [ModelError("model must be whole; it is not.")]

    def load(asked, progress):
        if asked == TWO and refused:
            raise refused.pop()
        return builders.small_model()

    models = Shelf(load)
    look(models, ONE, ANNE)
    opening = models.open(TWO, ANNE)
    assert opening.wait(LIMIT_S)
    assert opening.error == "model must be whole; it is not."
    models.finish(opening, ANNE)
    assert models.find(ONE) is not None
    look(models, TWO, ANNE)
    assert models.find(TWO) is not None


def test_fault_while_opening_is_told_as_ours_and_logged(caplog):
    def load(asked, progress):
        raise ZeroDivisionError("secret detail")

    opening = Shelf(load).open(ONE, ANNE)
    assert opening.wait(LIMIT_S)
    assert "our fault" in opening.error
    assert "secret" not in opening.error
    assert "secret" in caplog.text


def slow(go):
    """Opens a model in steps, each when it may go on."""

    def load(asked, progress):
        for done in range(3):
            progress(done, 3)
            assert go.wait(LIMIT_S)
        return builders.small_model()

    return load


def test_stopped_opening_ends_at_its_next_progress_and_keeps_nothing():
    go = threading.Event()
    models = Shelf(slow(go))
    opening = models.open(ONE, ANNE)
    models.stop(ANNE)
    assert opening.stopped
    go.set()
    assert opening.wait(LIMIT_S)
    assert (opening.model, opening.error) == (None, None)
    assert models.find(ONE) is None


def test_opening_that_another_tab_wants_is_not_stopped():
    go = threading.Event()
    models = Shelf(slow(go))
    opening = models.open(ONE, ANNE)
    models.open(ONE, BEN)
    models.stop(ANNE)
    assert not opening.stopped
    models.leave(BEN)
    assert opening.stopped
    go.set()


def test_asking_for_another_stops_what_was_asked_for_before():
    go = threading.Event()
    models = Shelf(slow(go))
    first = models.open(ONE, ANNE)
    second = models.open(TWO, ANNE)
    assert first.stopped
    go.set()
    assert second.wait(LIMIT_S)
    assert second.model is not None
    assert (second.done, second.total) == (2, 3)


def test_oldest_values_go_where_there_are_too_many_or_they_are_too_large(monkeypatch):
    monkeypatch.setattr(shelf, "MOST_BYTES", 10)
    made = []

    def get(kept, key):
        return kept.get(key, lambda: made.append(key) or key)

    few = Kept(2)
    for key in "abac":
        get(few, key)
    assert made == ["a", "b", "c"]
    get(few, "a")
    assert made == ["a", "b", "c"]  # it was used last
    get(few, "b")
    assert made == ["a", "b", "c", "b"]
    made.clear()
    small = Kept(9, int)
    for size in (4, 5, 4, 20, 4):
        get(small, size)
    assert made == [4, 5, 20, 4]
