import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from attention.benchmark import BenchmarkSettings, Worker, sweep
from attention.benchmark.sweep import ALLOCATOR_VARIABLES, COMMAND, ROOT, WorkerError
from attention.errors import ConfigError, DeviceError

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


def ended(process):
    return process.poll() is not None


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
    assert ended(worker._process)
    assert not worker.alive


def test_closing_the_iterator_ends_the_process(worker):
    measured = worker.measure(settings(), 3)
    next(measured)
    measured.close()
    assert ended(worker._process)


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
    assert [ended(process) for process in made] == [True]


def test_stopping_before_anything_was_asked_is_harmless():
    worker = Worker()
    worker.stop()
    worker.stop()
    assert list(worker.measure(settings(), 3)) == []


def test_process_that_the_system_killed_is_told_as_out_of_memory(worker):
    os.kill(worker._process.pid, signal.SIGKILL)
    with pytest.raises(DeviceError, match="memory must be enough"):
        list(worker.measure(settings(), 3))


def test_process_that_fails_is_a_fault_with_its_last_words(worker):
    worker._ask({"settings": {"heads": [1], "implementations": [], "nonsense": 1}, "num_heads": 1})
    with pytest.raises(WorkerError, match="nonsense"):
        list(worker._answers())


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
    process = subprocess.Popen(COMMAND, cwd=ROOT, stdin=subprocess.PIPE, text=True)
    process.stdin.write(request)
    process.stdin.close()
    assert process.wait(timeout=60) == 0


def test_what_libraries_print_does_not_spoil_the_answers():
    noisy = (
        "import attention.benchmark.worker as worker\n"
        "worker.measure = lambda settings, num_heads: print('noise') or iter(())\n"
        "worker.main()"
    )
    request = json.dumps({"settings": settings().to_json(), "num_heads": 3}) + "\n"
    command = [sys.executable, "-c", noisy]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, cwd=ROOT, text=True, **pipes)
    process.stdin.write(request)
    process.stdin.flush()
    assert json.loads(process.stdout.readline()) == {"done": True}
    _, errors = process.communicate()
    assert "noise" in errors
