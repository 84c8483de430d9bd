import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from attention.benchmark import BenchmarkSettings, Worker, process, sweep
from attention.benchmark.measurement import Measurement
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


# A measuring process that needs no torch: dies, hangs or answers as {what} says of each name.
SCRIPT = """
import json, os, signal, sys, time
what = {what}
def send(line):
    print(json.dumps(line), flush=True)
for text in sys.stdin:
    asked = json.loads(text)
    for name in asked["settings"]["implementations"]:
        send({{"begin": name}})
        if what.get(name) == "die":
            sys.exit("no kernel for " + name)
        if what.get(name) == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if what.get(name) == "hang":
            print("computing " + name, file=sys.stderr, flush=True)
            time.sleep(3600)
    send({{"begin": None}})
    if what.get("all") == "die":
        sys.exit("all is lost")
    for name in asked["settings"]["implementations"]:
        send({{"measurement": {{**json.loads({empty!r}), "implementation": name, "equal": True,
              "num_heads": asked["num_heads"], "samples": [1.0]}}}})
    send({{"done": True}})
"""
EMPTY = json.dumps(Measurement(implementation="", num_heads=1, head_dim=5, d_out=15).to_json())


@pytest.fixture
def script(monkeypatch):
    """Processes that do as they are told."""

    def install(**what):
        text = SCRIPT.format(what=what, empty=EMPTY)
        monkeypatch.setattr(process, "COMMAND", (sys.executable, "-c", text))

    return install


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
            "the measuring process must answer; it ended with code 1; it wrote last: "
            "'no kernel for looped'."
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
    assert said.startswith("the measuring process must answer within 0.3")
    assert said.endswith("it hung; it wrote last: 'computing batched'.")
    assert found["looped"].ok


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        # Read when a process begins, and again once it was killed.
        ([3, 4], "memory must be enough for the patterns; the system ended the measuring process."),
        (
            [None],
            "memory must be enough for the patterns; the system ended the measuring process, ",
        ),
        ([3], "the measuring process must answer; it ended by the signal SIGKILL."),
    ],
    ids=["for memory", "nobody knows", "by somebody else"],
)
def test_killed_process_is_told_as_out_of_memory_only_where_it_was(
    script, monkeypatch, counts, said
):
    # Somebody's kill -9 was told as want of memory.
    told = iter(counts)
    monkeypatch.setattr(process, "killed_for_memory", lambda: next(told, counts[-1]))
    script(looped="killed")
    found = by_name(sweep(settings(heads=(3,))))
    assert found["looped"].error.startswith(said)
    assert found["batched"].ok


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_patience_of_ages_is_no_fault(script):
    # No lock can wait for so long: a traceback for every line of the answer.
    script()
    assert all(m.ok for m in sweep(settings(patience=1e300)))


def test_profiler_writes_nothing_that_would_be_taken_for_last_words(capfd):
    # "it wrote last: 'USDT:2026-12-01 … profiler_stop'".
    with Worker() as worker:
        list(worker.measure(settings(implementations=("batched",)), 3))
        worker._process._log.seek(0)
        assert worker._process._log.read() == ""


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
