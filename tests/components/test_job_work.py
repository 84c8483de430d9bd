from components.job_work import Held, Work
from tests.components.bench_builders import settings


def test_what_is_held_is_held_for_these_head_counts_of_this_benchmark_only():
    held = Held(settings(), (1, 2), (2,))
    assert held.holds(settings(), (1, 2))
    assert not held.holds(settings(), (1, 2, 3))
    assert not held.holds(settings(d_out=15), (1, 2))


def test_work_takes_on_what_is_not_waiting_yet():
    work = Work(settings(), [1, 2])
    work.add([2, 4])
    assert work.left == work.all == [1, 2, 4]


def test_time_left_is_that_of_the_last_head_count_for_each_one_left():
    work = Work(settings(), [1, 2, 4])
    assert work.seconds_left() is None
    work.last = 1.5
    assert work.seconds_left() == 4.5
