import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from attention.benchmark import BenchmarkSettings, Worker, process, sweep
from attention.benchmark.numbers import heads_written
from attention.benchmark.process import ALLOCATOR_VARIABLES, COMMAND, ROOT
from attention.errors import ConfigError

ENDLESS_S = 3600.0


def settings(**changes):
    values = {
        "heads": (1, 3),
        "d_out": 15,
        "d_in": 7,
        "seq_len": 11,
        "implementations": ("looped", "batched"),
        "min_run_time": 1e-4,
        "rounds": 1,
    }
    return BenchmarkSettings(**(values | changes))


@pytest.fixture
def worker():
    with Worker() as made:
        yield made


def ended(worker):
    return worker._process.ended


def test_every_head_count_is_measured_in_order():
    found = [(m.num_heads, m.implementation) for m in sweep(settings())]
    assert found == [(1, "looped"), (1, "batched"), (3, "looped"), (3, "batched")]


def test_one_process_answers_many_requests(worker):
    first = list(worker.measure(settings(), 3))
    pid = worker._process.pid
    second = list(worker.measure(settings(d_out=21), 7))
    assert worker._process.pid == pid
    assert [m.d_out for m in first + second] == [15, 15, 21, 21]


def test_stop_ends_a_measurement_that_would_last_an_hour(worker):
    long = settings(min_run_time=ENDLESS_S)
    found, started = [], threading.Event()

    def ask():
        started.set()
        found.extend(worker.measure(long, 3))

    thread = threading.Thread(target=ask)
    thread.start()
    started.wait()
    worker.stop()
    thread.join(timeout=30)
    assert not thread.is_alive()
    assert found == []
    assert ended(worker)
    assert not worker.alive


def test_closing_the_iterator_ends_the_process(worker):
    measured = worker.measure(settings(), 3)
    next(measured)
    measured.close()
    assert ended(worker)


def test_closing_a_sweep_ends_its_process(monkeypatch):
    made = []
    start = subprocess.Popen.__init__
    monkeypatch.setattr(
        subprocess.Popen,
        "__init__",
        lambda self, *a, **k: made.append(self) or start(self, *a, **k),
    )
    measured = sweep(settings())
    next(measured)
    measured.close()
    assert [process.poll() is not None for process in made] == [True]


def test_stopping_before_anything_was_asked_is_harmless():
    worker = Worker()
    worker.stop()
    worker.stop()
    assert list(worker.measure(settings(), 3)) == []


def by_name(found):
    return {m.implementation: m for m in found}


def test_process_that_died_unasked_is_started_again(worker):
    os.kill(worker._process.pid, signal.SIGKILL)
    worker._process._process.wait()
    assert all(m.ok for m in worker.measure(settings(), 3))


def test_one_that_ends_the_process_is_told_with_its_last_words_and_the_others_are_kept(
    script, caplog
):
    script(looped="die")
    found = [by_name(group) for group in pairs(sweep(settings()))]
    for at_heads in found:
        assert at_heads["looped"].error == (
            f"At {heads_written(at_heads['looped'].num_heads)} the measuring process must answer; "
            "it ended with code 1; it wrote last: 'no kernel for looped'."
        )
        assert at_heads["looped"].samples == ()
        assert at_heads["batched"].ok
    assert "no kernel for looped" in caplog.text


def pairs(found):
    """The measurements of each head count."""
    found = list(found)
    return found[:2], found[2:]


def test_one_that_hangs_is_ended_and_the_others_are_kept(script):
    script(batched="hang")
    found = by_name(sweep(settings(heads=(3,), patience=0.3)))
    said = found["batched"].error
    assert said.startswith("At 3 heads the measuring process must answer within 0.3")
    assert said.endswith("it hung; it wrote last: 'computing batched'.")
    assert found["looped"].ok


def test_process_that_dies_while_all_are_timed_costs_that_head_count_only(script):
    script(all="die")
    found = list(sweep(settings()))
    assert [(m.num_heads, m.implementation) for m in found] == [
        (1, "looped"), (1, "batched"), (3, "looped"), (3, "batched"),
    ]  # fmt: skip
    assert all("all is lost" in m.error for m in found)


def test_process_that_waits_for_its_turn_is_not_given_up_and_says_so_once(monkeypatch, caplog):
    waits = (
        "import json, sys, time\n"
        "for text in sys.stdin:\n"
        "    for _ in range(8):\n"
        "        time.sleep(0.1)\n"
        "        print(json.dumps({'waiting': True}), flush=True)\n"
        "    print(json.dumps({'done': True}), flush=True)\n"
    )
    monkeypatch.setattr(process, "COMMAND", (sys.executable, "-c", waits))
    with Worker() as worker:
        assert list(worker.measure(settings(patience=0.6), 3)) == []
        assert worker.waiting
    # In a terminal it stood still without a word.
    assert caplog.text.count("Another benchmark on this machine has its turn: waiting.") == 1


def test_bad_head_count_is_refused_without_asking(worker):
    with pytest.raises(ConfigError, match="d_out must be divisible"):
        list(worker.measure(settings(), 4))
    assert worker.alive


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator")
def test_allocator_is_set_before_the_process_starts():
    with Worker("tuned") as worker:
        list(worker.measure(settings(), 3))
        environ = Path(f"/proc/{worker._process.pid}/environ").read_text(encoding="utf-8")
    variables = dict(entry.split("=", 1) for entry in environ.split("\0") if entry)
    assert ALLOCATOR_VARIABLES["tuned"].items() <= variables.items()


def test_allocator_cannot_be_tuned_elsewhere(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(ConfigError, match="allocator must be 'user'"):
        Worker("tuned")


def test_process_ends_when_nobody_can_ask_any_more():
    """Or a server that is killed would leave its measuring behind."""
    endless = settings(min_run_time=ENDLESS_S, heads=(3,))
    request = json.dumps({"settings": endless.to_json(), "num_heads": 3}) + "\n"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL}
    asked = subprocess.Popen(COMMAND, cwd=ROOT, text=True, **pipes)
    asked.stdin.write(request)
    asked.stdin.close()
    assert asked.wait(timeout=60) == 0


def test_what_libraries_print_does_not_spoil_the_answers():
    noisy = (
        "import attention.benchmark.worker as worker\n"
        "worker.measure = lambda *asked: print('noise') or iter(())\n"
        "worker.main()"
    )
    request = json.dumps({"settings": settings().to_json(), "num_heads": 3}) + "\n"
    command = [sys.executable, "-c", noisy]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    asked = subprocess.Popen(command, cwd=ROOT, text=True, **pipes)
    asked.stdin.write(request)
    asked.stdin.flush()
    while (line := json.loads(asked.stdout.readline())) == {"waiting": True}:
        pass
    assert line == {"done": True}
    _, errors = asked.communicate()
    assert "noise" in errors


# ------------------------------------------------------------------ traces


def test_trace_of_one_head_count(worker):
    found = worker.trace(settings(threads=1), 3, "looped")
    assert set(found.heads) == {0, 1, 2}
    assert found.overlap == 0


def test_trace_that_cannot_be_made_is_one_sentence(worker):
    with pytest.raises(ConfigError, match="d_out must be divisible by num_heads"):
        worker.trace(settings(), 4, "looped")
