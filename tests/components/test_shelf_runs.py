"""Runs of a model in memory: made once, from what was run before, and kept up to a limit."""

import threading

import pytest
import torch

from attention.errors import TextError
from attention.progress import CancelledError
from components import resources, shelf
from components.opening import Asked
from components.shelf import Held, Kept
from tests import builders

IDS = (7, 1, 2, 3, 1, 2, 3, 97, 53, 11, 5)
LIMIT_S = 30


@pytest.fixture
def held():
    return Held(Asked("one"), builders.small_model())


@pytest.fixture
def read(held):
    """How many tokens the model read in each pass."""
    found = []
    held.model.embed.register_forward_pre_hook(lambda _, given: found.append(given[0].shape[1]))
    return found


def in_thread(work):
    """Start it; its result, or what it raised, is in the list once the thread has ended."""
    found = []

    def run():
        try:
            found.append(work())
        except BaseException as error:  # handed to the test
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, found


# ------------------------------------------------------------------ what a text shares with others


def test_what_is_added_to_a_text_is_all_that_is_run(held, read):
    texts = [held.model.tokens(ids) for ids in (IDS, (*IDS, 8), (*IDS[:-1], 9), IDS[:4])]
    records = [held.run(text, "sdpa")[0] for text in texts]
    assert read == [11, 1, 1]
    for text, record in zip(texts, records, strict=True):
        assert record.tokens == text
        torch.testing.assert_close(
            record.logits, held.model.run(text).logits, rtol=1e-4, atol=1e-4
        )  # float32 sums in another order


def test_run_in_another_way_is_really_run_in_it(held, read):
    text = held.model.tokens(IDS)
    for name in ("sdpa", "looped", "batched"):
        record, _ = held.run(text, name)
        assert (record.implementation, record.reused) == (name, 0)
    assert read == [11] * 3


def test_time_that_is_told_of_a_text_is_that_of_a_whole_run(held, monkeypatch):
    # A page that took the tail's time for the text's would measure a slow model unasked.
    times = iter([0.0, 2.2, 10.0, 10.1])
    monkeypatch.setattr(shelf.time, "perf_counter", lambda: next(times))
    assert held.run(held.model.tokens(IDS), "sdpa")[1] == pytest.approx(2.2)
    assert held.run(held.model.tokens((*IDS, 8)), "sdpa")[1] == pytest.approx(2.4)


# ------------------------------------------------------------------ once, or not at all


def test_two_tabs_that_ask_for_the_same_at_once_wait_for_one_run(held, read):
    text, begun, go = held.model.tokens(IDS), threading.Event(), threading.Event()

    def hold(_done):
        begun.set()
        assert go.wait(LIMIT_S)

    first, ones = in_thread(lambda: held.run(text, "sdpa", hold))
    assert begun.wait(LIMIT_S)
    second, others = in_thread(lambda: held.run(text, "sdpa", lambda _: go.set()))
    for thread in (first, second):
        thread.join(LIMIT_S)
    assert read == [11]
    assert ones[0][0] is others[0][0]


def called_off(_done):
    raise CancelledError("enough")


def test_run_that_is_called_off_leaves_nothing(held, read):
    text = held.model.tokens(IDS)
    with pytest.raises(CancelledError):
        held.run(text, "sdpa", called_off)
    assert held.runs.values() == []
    assert held.run(text, "sdpa")[0].seq_len == 11
    assert read == [11, 11]


def test_page_is_told_how_far_a_run_is_and_may_call_it_off(held, monkeypatch):
    monkeypatch.setattr(resources, "_held", lambda wanted: {held.asked: held}[wanted])
    text, told = held.model.tokens(IDS), []
    with pytest.raises(CancelledError):
        resources.record(held.asked, text, "sdpa", called_off)
    resources.record(held.asked, text, "sdpa", told.append)
    assert told == [pytest.approx(1 / 3), pytest.approx(2 / 3), 1.0]


def test_run_that_one_tab_calls_off_is_made_for_the_other(held):
    text, begun, waits = held.model.tokens(IDS), threading.Event(), threading.Event()

    def give_up(_done):
        begun.set()
        assert waits.wait(LIMIT_S)
        raise CancelledError("enough")

    first, ones = in_thread(lambda: held.run(text, "sdpa", give_up))
    assert begun.wait(LIMIT_S)
    second, others = in_thread(lambda: held.run(text, "sdpa", lambda _: waits.set()))
    for thread in (first, second):
        thread.join(LIMIT_S)
    assert isinstance(ones[0], CancelledError)
    assert others[0][0].seq_len == 11


def test_whoever_waits_for_another_tab_may_give_up(held):
    text, begun, go = held.model.tokens(IDS), threading.Event(), threading.Event()

    def hold(_done):
        begun.set()
        assert go.wait(LIMIT_S)

    first, ones = in_thread(lambda: held.run(text, "sdpa", hold))
    assert begun.wait(LIMIT_S)
    with pytest.raises(CancelledError):
        held.run(text, "sdpa", called_off)
    go.set()
    first.join(LIMIT_S)
    assert held.runs.values() == ones


def test_text_that_cannot_be_made_can_be_asked_for_again():
    kept = Kept(3)

    def refuse():
        raise TextError("no")

    for _ in range(2):
        with pytest.raises(TextError):
            kept.get("a", refuse)
    assert kept.get("a", lambda: 5) == 5


# ------------------------------------------------------------------ the limit


def test_runs_are_kept_up_to_a_size_each_with_all_that_it_holds(held, monkeypatch):
    texts = [held.model.tokens([start, *IDS[1:]]) for start in range(5)]
    size = held.model.run(texts[0]).nbytes
    assert size == 4 * 11 * (2 * 3 * 30 + 101)  # q, k, v of two layers; the logits
    monkeypatch.setattr(shelf, "MOST_BYTES", 3 * size)
    records = [held.run(text, "sdpa")[0] for text in texts]
    assert [record for record, _ in held.runs.values()] == records[2:]
