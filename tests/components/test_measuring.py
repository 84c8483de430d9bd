"""What the strip says is measured in the background, for as long as somebody wants it."""

import threading
import time

import pytest
import torch

from attention import difference, timing
from attention.difference import Difference
from attention.errors import DeviceError
from attention.tokens import Tokens
from components import measuring, resources
from components.measuring import ROUNDS, Asked, Measuring
from components.opening import Asked as AskedModel

NAMES = ("looped", "batched", "sdpa")
TEXT = Tokens.from_ids((1, 2, 3))
LIMIT_S = 20.0


class Bench:
    """Stands in for what times and compares: says what was asked, and waits where told to."""

    def __init__(self):
        self.timed, self.compared = [], []
        self.go_on, self.entered = threading.Event(), threading.Event()
        self.go_on.set()
        self.refusal = None

    def time_forward(self, model, tokens, names, *, before_each, **_):
        self.timed += names
        self.entered.set()
        assert self.go_on.wait(LIMIT_S)
        before_each()
        return {name: [float(len(self.timed))] for name in names}

    def compare(self, model, tokens, a, b, **_):
        self.compared.append((a, b))
        if self.refusal is not None:
            raise self.refusal
        return Difference(1e-7, 2e-7)


@pytest.fixture
def bench(monkeypatch):
    """In the place of the clockwork."""
    made = Bench()
    monkeypatch.setattr(timing, "time_forward", made.time_forward)
    monkeypatch.setattr(difference, "compare", made.compare)
    monkeypatch.setattr(measuring, "ROUNDS", ROUNDS)
    monkeypatch.setattr(measuring, "STEP_S", 0.001)
    shelf = type("Shelf", (), {"gone": False, "find": lambda self, _: None if self.gone else 1})()
    monkeypatch.setattr(resources, "shelf", lambda: shelf)
    made.shelf = shelf
    return made


def asked(heads=8, chosen="batched", other="looped", tokens=TEXT):
    threads = torch.get_num_threads()
    return Asked(AskedModel("embedded"), tokens, heads, threads, NAMES, chosen, other)


def until(holds):
    begun = time.monotonic()
    while not holds():
        assert time.monotonic() - begun < LIMIT_S
        time.sleep(0.002)


def wait_for(job, what):
    until(lambda: not job.want(what, object()).running)
    return job.want(what, object())


def test_every_round_begins_with_another_and_then_the_two_are_compared(bench):
    found = wait_for(Measuring(), asked())
    assert {name: len(times) for name, times in found.samples.items()} == dict.fromkeys(NAMES, 4)
    assert bench.timed[: 3 * len(NAMES) : len(NAMES)] == list(NAMES)
    assert len(bench.timed) == ROUNDS * len(NAMES)
    assert found.difference == Difference(1e-7, 2e-7)


def test_asking_does_not_wait_and_says_what_is_there(bench):
    bench.go_on.clear()
    job = Measuring()
    found = job.want(asked(), object())
    assert found.running
    assert found.samples == {}
    assert found.difference is None
    bench.go_on.set()
    assert not wait_for(job, asked()).running


def test_what_is_known_is_not_measured_again(bench):
    job = Measuring()
    wait_for(job, asked())
    before = len(bench.timed)
    turned = asked(chosen="looped", other="batched")
    assert not job.want(turned, object()).running
    wait_for(job, asked(heads=2))
    assert not job.want(asked(), object()).running
    assert len(bench.timed) == 2 * before
    assert bench.compared == [("batched", "looped")] * 2


def test_other_pair_is_compared_without_being_timed_again(bench):
    job = Measuring()
    wait_for(job, asked())
    before = len(bench.timed)
    wait_for(job, asked(chosen="sdpa"))
    assert len(bench.timed) == before
    assert bench.compared == [("batched", "looped"), ("sdpa", "looped")]


def test_again_forgets_the_times(bench):
    job = Measuring()
    first = wait_for(job, asked()).samples
    assert job.want(asked(), object(), again=True).running
    assert wait_for(job, asked()).samples != first


def test_other_text_ends_what_is_being_measured(bench):
    bench.go_on.clear()
    job = Measuring()
    job.want(asked(), object())
    assert bench.entered.wait(LIMIT_S)
    job.want(asked(tokens=Tokens.from_ids((4, 5))), object())
    bench.go_on.set()
    wait_for(job, asked(tokens=Tokens.from_ids((4, 5))))
    assert not job.known(asked())
    assert len(bench.timed) <= 1 + ROUNDS * len(NAMES)


@pytest.mark.parametrize("end", ["closed", "unloaded", "forgotten"])
def test_it_ends_where_nobody_waits(bench, end):
    now = [0.0]
    bench.go_on.clear()
    job = Measuring(clock=lambda: now[0])
    job.want(asked(), object())
    now[0] += 1.0  # after the calm
    assert bench.entered.wait(LIMIT_S)
    if end == "closed":
        job.end()
    elif end == "unloaded":
        bench.shelf.gone = True
    else:
        now[0] += measuring.PATIENCE_S + 1
    bench.go_on.set()
    until(lambda: not job.known(asked()))
    time.sleep(0.02)
    assert len(bench.timed) == 1


def test_what_was_timed_while_the_page_was_made_does_not_count(bench):
    bench.go_on.clear()
    job = Measuring()
    job.want(asked(), object())
    assert bench.entered.wait(LIMIT_S)
    with job.held_off():
        bench.go_on.set()
        time.sleep(0.02)
        assert len(bench.timed) == 1  # nothing is timed now
    found = wait_for(job, asked())
    assert len(bench.timed) == ROUNDS * len(NAMES) + 1
    assert min(min(times) for times in found.samples.values()) == 2.0


def test_comparison_that_is_refused_leaves_the_times(bench):
    bench.refusal = DeviceError("There is too little memory.")
    found = wait_for(Measuring(), asked())
    assert found.refused == "There is too little memory."
    assert len(found.samples["looped"]) == ROUNDS


def test_what_cannot_be_timed_is_a_sentence_and_can_be_tried_again(bench, monkeypatch):
    def full(*_, **__):
        raise DeviceError("The device is full.")

    job = Measuring()
    with monkeypatch.context() as broken:
        broken.setattr(timing, "time_forward", full)
        found = wait_for(job, asked())
    assert found.error == "The device is full."
    assert job.want(asked(), object()).error == "The device is full."
    job.want(asked(), object(), again=True)
    assert wait_for(job, asked()).error is None


def test_the_oldest_are_forgotten(bench, monkeypatch):
    monkeypatch.setattr(measuring, "MOST_KEPT", 2)
    job = Measuring()
    for heads in (1, 2, 3):
        wait_for(job, asked(heads=heads))
    assert [job.known(asked(heads=heads)) for heads in (1, 2, 3)] == [False, True, True]
