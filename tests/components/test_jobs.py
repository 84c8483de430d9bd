import threading
import time
from dataclasses import replace

import pytest

from attention.errors import DeviceError
from components import jobs
from components.jobs import PATIENCE_S, TURN, BenchmarkJob
from tests.components.bench_builders import FakeWorker, point, settings

LIMIT_S = 30


def until(condition):
    """Wait for another thread; how long it takes is not what is tested."""
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.005)


class Bench:
    """A job, and the workers that it starts."""

    def __init__(self, *, open_gate=True):
        self.workers = []
        self.now = 0.0
        self.open_gate = open_gate
        self.asked = settings()
        self.job = BenchmarkJob(self.start, clock=lambda: self.now)

    def start(self, allocator):
        self.workers.append(FakeWorker(allocator, open_gate=self.open_gate))
        return self.workers[-1]

    def poll(self):
        return self.job.poll(self.asked)

    def finish(self):
        until(lambda: not self.poll().running)

    def began(self):
        until(lambda: self.workers and self.workers[-1].began.is_set())

    def heads(self):
        return sorted({m.num_heads for m in self.poll().measurements})


@pytest.fixture
def bench():
    made = Bench()
    yield made
    made.job.close()


@pytest.fixture
def slow():
    """A job whose measurements last until the gate is opened."""
    made = Bench(open_gate=False)
    yield made
    made.job.close()


def test_every_head_count_wanted_is_measured_once(bench):
    bench.job.want(bench.asked, [1, 2, 3])
    bench.finish()
    bench.job.want(bench.asked, [1, 2, 3])
    bench.finish()
    assert bench.heads() == [1, 2, 3]
    assert bench.workers[0].asked == [1, 2, 3]


def test_heads_that_are_added_are_measured_by_the_same_process(bench):
    bench.job.want(bench.asked, [1, 2])
    bench.finish()
    bench.job.want(bench.asked, [1, 2, 3, 4])
    bench.finish()
    assert [worker.asked for worker in bench.workers] == [[1, 2, 3, 4]]


def test_asking_does_not_wait(slow):
    slow.job.want(slow.asked, [1, 2])
    slow.began()
    progress = slow.poll()
    assert progress.running
    assert (progress.now, progress.most, progress.done, progress.of) == (1, 2, 0, 2)


def test_heads_wanted_meanwhile_join_the_work(slow):
    slow.job.want(slow.asked, [1, 2])
    slow.began()
    slow.job.want(slow.asked, [1, 2, 3])
    assert slow.poll().of == 3
    slow.workers[0].gate.set()
    slow.finish()
    assert slow.workers[0].asked == [1, 2, 3]


def test_stop_keeps_the_points(bench):
    bench.job.want(bench.asked, [1])
    bench.finish()
    (worker,) = bench.workers
    worker.gate.clear()
    worker.began.clear()
    bench.job.want(bench.asked, [1, 2])
    bench.began()
    bench.job.stop(bench.asked, [1, 2])
    progress = bench.poll()
    assert progress.stopped
    assert not progress.running
    assert bench.heads() == [1]


def test_stop_in_the_middle_kills_the_measuring_process(slow):
    slow.job.want(slow.asked, [1])
    slow.began()
    slow.job.stop(slow.asked, [1])
    assert slow.workers[0].stopped.is_set()
    assert slow.heads() == []


def test_what_was_stopped_does_not_begin_again_by_itself(slow):
    slow.job.want(slow.asked, [1, 2])
    slow.began()
    slow.job.stop(slow.asked, [1, 2])
    slow.job.want(slow.asked, [1, 2])
    assert not slow.poll().running


@pytest.mark.parametrize("wanted", [[1, 2, 3], [1]])
def test_wanting_something_else_begins_again(slow, wanted):
    slow.job.want(slow.asked, [1, 2])
    slow.began()
    slow.job.stop(slow.asked, [1, 2])
    slow.job.want(slow.asked, wanted)
    assert slow.poll().running


def test_resuming_goes_on_where_it_was_stopped(slow):
    slow.job.want(slow.asked, [1, 2])
    slow.began()
    slow.job.stop(slow.asked, [1, 2])
    slow.job.resume(slow.asked, [1, 2])  # by itself: in a browser nothing else is run
    until(lambda: len(slow.workers) == 2)
    assert slow.poll().running
    slow.workers[1].gate.set()
    slow.finish()
    assert slow.heads() == [1, 2]


def test_stopped_sweep_goes_on_as_a_sweep(bench):
    bench.job.want(bench.asked, [1])
    bench.finish()
    (worker,) = bench.workers
    worker.gate.clear()
    worker.began.clear()
    bench.job.sweep(bench.asked, [1, 2, 4])
    bench.began()
    bench.job.stop(bench.asked, [1])
    bench.job.resume(bench.asked, [1])
    bench.finish()
    assert bench.heads() == [1, 2, 4]
    assert bench.workers[-1].asked[-3:] == [1, 2, 4]  # the first of them anew


def test_points_of_another_benchmark_are_kept_apart(bench):
    bench.job.want(bench.asked, [1, 2])
    bench.finish()
    other = settings(d_out=15)
    bench.job.want(other, [1, 3])
    until(lambda: not bench.job.poll(other).running)
    assert bench.heads() == [1, 2]
    assert {m.d_out for m in bench.job.poll(other).measurements} == {15}
    bench.job.want(bench.asked, [1, 2])
    assert not bench.poll().running


def test_another_benchmark_ends_the_one_before(slow):
    slow.job.want(slow.asked, [1, 2])
    slow.began()
    slow.job.want(settings(d_out=15), [1])
    assert slow.workers[0].stopped.is_set()
    assert not slow.poll().running


def test_sweep_measures_anew(bench):
    bench.job.want(bench.asked, [1, 2])
    bench.finish()
    bench.job.sweep(bench.asked, [1, 2, 4])
    bench.finish()
    assert bench.workers[0].asked == [1, 2, 1, 2, 4]


def test_another_allocator_needs_another_process(bench):
    bench.job.want(bench.asked, [1])
    bench.finish()
    tuned = settings(allocator="tuned")
    bench.job.want(tuned, [1])
    until(lambda: not bench.job.poll(tuned).running)
    assert [worker.allocator for worker in bench.workers] == ["user", "tuned"]
    assert bench.workers[0].stopped.is_set()


def test_refusal_is_one_sentence_and_is_not_tried_for_ever(bench, monkeypatch):
    def refuse(self, asked, num_heads):
        raise DeviceError("memory must be enough.")
        yield

    monkeypatch.setattr(FakeWorker, "measure", refuse)
    bench.job.want(bench.asked, [1])
    bench.finish()
    assert bench.poll().error == "memory must be enough."
    bench.job.want(bench.asked, [1])
    assert not bench.poll().running


def test_fault_is_logged_and_told_as_ours(bench, monkeypatch, caplog):
    def fail(self, asked, num_heads):
        raise RuntimeError("secret detail")
        yield

    monkeypatch.setattr(FakeWorker, "measure", fail)
    bench.job.want(bench.asked, [1])
    bench.finish()
    assert bench.poll().error.startswith("This is our fault")
    assert "secret detail" in caplog.text


def test_work_that_nobody_asks_about_ends(slow, monkeypatch):
    monkeypatch.setattr(jobs, "WATCH_S", 0.01)
    slow.job.want(slow.asked, [1])
    slow.began()
    slow.now += PATIENCE_S + 1
    until(slow.workers[0].stopped.is_set)
    assert not slow.poll().running


def test_work_that_somebody_asks_about_goes_on(slow, monkeypatch):
    watched = threading.Event()
    monkeypatch.setattr(jobs, "WATCH_S", 0.01)
    monkeypatch.setattr(slow.job, "_clock", lambda: watched.set() or slow.now)
    slow.job.want(slow.asked, [1])
    slow.began()
    slow.now += PATIENCE_S - 1
    slow.poll()
    slow.now += PATIENCE_S - 1
    watched.clear()
    watched.wait(LIMIT_S)
    assert slow.poll().running


def test_another_patience_keeps_the_points_and_holds_from_the_next_head_count_on(slow):
    slow.job.want(slow.asked, [1, 2])
    slow.began()
    slow.job.want(replace(slow.asked, patience=5.0), [1, 2])
    slow.workers[0].gate.set()
    slow.finish()
    assert slow.heads() == slow.workers[0].asked == [1, 2]
    assert slow.workers[0].settings.patience == 5.0


def test_closing_the_session_ends_the_process(bench):
    bench.job.want(bench.asked, [1])
    bench.finish()
    bench.job.close()
    assert bench.workers[0].stopped.is_set()


def test_two_sessions_measure_in_turns(bench):
    with TURN:
        bench.job.want(bench.asked, [1])
        until(lambda: bench.poll().waiting)
        assert bench.workers == []
    bench.finish()
    assert bench.heads() == [1]


def test_time_left_is_that_of_the_last_for_each_to_come(bench):
    """The first includes the start of the process, so it says nothing."""
    bench.job.want(bench.asked, [1])
    bench.finish()
    (worker,) = bench.workers
    worker.make = lambda *given: setattr(bench, "now", bench.now + 1.0) or point(*given)
    gates = {3: threading.Event(), 4: threading.Event()}
    measure = worker.measure

    def gated(asked, num_heads):
        if num_heads in gates:
            gates[num_heads].wait(LIMIT_S)
        return measure(asked, num_heads)

    worker.measure = gated
    bench.job.want(bench.asked, [1, 2, 3, 4])
    until(lambda: bench.poll().now == 3)
    assert bench.poll().seconds_left == pytest.approx(3.0 * 2)  # three implementations, 1 s each
    for gate in gates.values():
        gate.set()
    bench.finish()
