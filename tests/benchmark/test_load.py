import os
import time

import pytest

from attention.benchmark.load import LoadMeter, busy_seconds, disturbance, usable_cores

TICK = os.sysconf("SC_CLK_TCK")


def stat(path, *cores):
    """A /proc/stat: ticks of user nice system idle iowait irq softirq steal, for each core."""
    lines = ["cpu 9 9 9 9 9 9 9 9 0 0"]
    lines += [f"cpu{i} {' '.join(map(str, ticks))} 0 0" for i, ticks in enumerate(cores)]
    path.write_text("\n".join([*lines, "intr 1 2 3"]), encoding="ascii")


@pytest.fixture
def two_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})


@pytest.fixture
def proc_stat(tmp_path):
    return tmp_path / "stat"


def test_work_of_every_kind_counts_but_waiting_does_not(proc_stat, two_cores):
    stat(proc_stat, (2, 3, 5, 1000, 1000, 7, 11, 13), (0,) * 8)
    busy = busy_seconds(proc_stat)
    assert busy == pytest.approx((2 + 3 + 5 + 7 + 11 + 13) / TICK)


def test_cores_that_we_may_not_use_do_not_count(proc_stat, two_cores):
    stat(proc_stat, (17,) + (0,) * 7, (19,) + (0,) * 7, (1000,) + (0,) * 7)
    assert busy_seconds(proc_stat) == pytest.approx(36 / TICK)


def test_load_of_others_is_what_this_process_did_not_do(proc_stat, two_cores, monkeypatch):
    wall, own = iter([100.0, 110.0]), iter([7.0, 12.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(wall))
    monkeypatch.setattr(time, "process_time", lambda: next(own))
    stat(proc_stat, (0,) * 8, (0,) * 8)
    with LoadMeter(proc_stat) as meter:
        stat(proc_stat, (11 * TICK,) + (0,) * 7, (0,) * 8)
    assert meter.others == pytest.approx((11 - 5) / 10)


def test_load_is_unknown_where_the_system_does_not_tell(tmp_path):
    with LoadMeter(tmp_path / "missing") as meter:
        pass
    assert meter.others is None


@pytest.mark.parametrize(
    ("others", "threads", "cores", "disturbed"),
    [
        (0.2, 2, 2, False),
        (0.3, 2, 2, True),
        (1.2, 1, 2, False),
        (1.3, 1, 2, True),
        (2.9, 4, 8, False),
        (0.3, 8, 2, True),
        (None, 2, 2, False),
    ],
)
def test_disturbed_is_what_lacks_the_cores_it_needs(others, threads, cores, disturbed):
    assert (disturbance(others, threads, cores) is not None) == disturbed


def test_reason_tells_the_load():
    assert disturbance(1.34, 2, 2) == "other programs kept 1.3 of 2 cores busy"


def test_there_is_a_core():
    assert usable_cores() >= 1
