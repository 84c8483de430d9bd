"""The measuring process: why it ended, and what it writes."""

import sys

import pytest

from attention.benchmark import BenchmarkSettings, Worker, process, sweep


def settings(**changes):
    values = {
        "heads": (3,),
        "d_out": 15,
        "d_in": 7,
        "seq_len": 11,
        "implementations": ("looped", "batched"),
        "min_run_time": 1e-4,
        "rounds": 1,
    }
    return BenchmarkSettings(**(values | changes))


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
    found = {m.implementation: m for m in sweep(settings())}
    assert found["looped"].error.startswith(f"At 3 heads {said}")
    assert found["batched"].ok


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_patience_of_ages_is_no_fault(script):
    # No lock can wait for so long: a traceback for every line of the answer.
    script()
    assert all(m.ok for m in sweep(settings(patience=1e300)))


def test_profiler_writes_nothing_that_would_be_taken_for_last_words():
    # "it wrote last: 'USDT:2026-12-01 … profiler_stop'".
    with Worker() as worker:
        list(worker.measure(settings(implementations=("batched",)), 3))
        worker._process._log.seek(0)
        assert worker._process._log.read() == ""


def test_process_that_is_slow_to_start_has_not_hung(monkeypatch):
    # With a patience of 2 s, importing torch alone was told as "it hung" at every head count.
    slow = (
        "import json, sys, time\n"
        "time.sleep(0.5)\n"
        "for text in sys.stdin:\n"
        "    print(json.dumps({'begin': None}), flush=True)\n"
        "    print(json.dumps({'done': True}), flush=True)\n"
    )
    monkeypatch.setattr(process, "COMMAND", (sys.executable, "-c", slow))
    assert list(sweep(settings(patience=0.1))) == []
