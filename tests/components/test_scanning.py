"""Heads at a glance: what is looked at when, and how it is called off."""

import threading

import numpy as np
import pytest

from attention.errors import DeviceError
from attention.progress import CancelledError
from components.scanning import MOST_MADE, Scan, SeenLayer

LAYERS = 4
LIMIT_S = 20


class Looking:
    """Looks at layers as told: notes them, and waits at those that are held."""

    def __init__(self):
        self.asked = []
        self.held, self.reached = threading.Event(), threading.Event()
        self.held.set()
        self.failure = None

    def __call__(self, layers, progress):
        for layer in layers:
            self.asked.append(layer)
            self.reached.set()
            while not self.held.wait(0.01):
                if progress is not None:
                    progress(0.5)
            if self.failure:
                raise self.failure
            if progress is not None:
                progress(1.0)
            yield SeenLayer(np.full((1, 1, 1), layer, dtype=np.float32), [None], [None])


@pytest.fixture
def looking():
    looking = Looking()
    yield looking
    looking.held.set()


def finish(scan):
    scan._thread.join(LIMIT_S)
    assert not scan.is_running


def test_layer_is_looked_at_once(looking):
    scan = Scan(LAYERS, looking)
    assert scan.layer(2) is scan.layer(2)
    assert looking.asked == [2]
    assert (scan.done, scan.missing) == ([2], [0, 1, 3])


def test_all_now_looks_at_the_rest(looking):
    scan = Scan(LAYERS, looking)
    scan.layer(1)
    scan.all_now()
    assert looking.asked == [1, 0, 2, 3]
    assert [scan.layer(n).thumbnails.item() for n in range(LAYERS)] == [0, 1, 2, 3]


def test_reader_has_the_rest_looked_at_in_the_background(looking):
    scan = Scan(LAYERS, looking)
    scan.layer(3)
    scan.start("a reader")
    finish(scan)
    assert scan.missing == []
    assert looking.asked == [3, 0, 1, 2]
    assert scan.seconds_left is None


def test_last_reader_who_leaves_calls_it_off(looking):
    looking.held.clear()
    scan = Scan(LAYERS, looking)
    scan.start("one")
    scan.start("two")
    assert looking.reached.wait(LIMIT_S)
    scan.leave("one")
    assert scan.is_running
    scan.leave("two")
    finish(scan)
    assert scan.missing == [0, 1, 2, 3]
    looking.held.set()
    scan.start("one")  # who comes back
    finish(scan)
    assert scan.missing == []


def test_stopped_until_told_to_go_on(looking):
    looking.held.clear()
    scan = Scan(LAYERS, looking)
    scan.start("one")
    assert looking.reached.wait(LIMIT_S)
    scan.stop()
    finish(scan)
    looking.held.set()
    scan.start("one")
    assert scan.missing == [0, 1, 2, 3]
    scan.go_on()
    scan.start("one")
    finish(scan)
    assert scan.missing == []


def test_failure_is_kept_and_another_try_is_made(looking):
    looking.failure = DeviceError("there is no memory left.")
    scan = Scan(LAYERS, looking)
    scan.start("one")
    finish(scan)
    assert str(scan.failure) == "there is no memory left."
    looking.failure = None
    scan.start("one")
    finish(scan)
    assert scan.failure is None
    assert scan.missing == []


def test_what_progress_raises_ends_the_look_at_one_layer(looking):
    def stop(share):
        raise CancelledError("no more")

    scan = Scan(LAYERS, looking)
    with pytest.raises(CancelledError):
        scan.layer(0, stop)
    assert scan.missing == [0, 1, 2, 3]


def test_turn_is_held_while_a_layer_is_looked_at(looking):
    turn = threading.Lock()
    scan = Scan(LAYERS, looking, turn=turn)
    with turn:
        scan.start("one")
        assert not looking.reached.wait(0.1)
    finish(scan)
    assert scan.missing == []
    assert not turn.locked()


def test_rest_takes_as_long_as_what_was_seen_says(looking):
    looking.held.clear()
    scan = Scan(LAYERS, looking)
    assert scan.seconds_left is None
    scan.start("one")
    assert looking.reached.wait(LIMIT_S)
    waited = threading.Event()
    while scan.seconds_left is None and not waited.wait(0.01):
        pass
    assert scan.seconds_left > 0
    looking.held.set()
    finish(scan)


def test_pictures_are_made_once_and_the_oldest_go(looking):
    scan, made = Scan(LAYERS, looking), []
    for key in (*range(MOST_MADE), 0, MOST_MADE, 1, 0):
        assert scan.once(key, lambda key=key: made.append(key) or key) == key
    assert made == [*range(MOST_MADE), MOST_MADE, 1]
