import json
import math

import pytest

from attention.benchmark.limit import Limit
from attention.benchmark.measurement import Measurement
from attention.timing import time_interleaved

SIZES = {"implementation": "looped", "num_heads": 3, "head_dim": 5, "d_out": 15}


def timed(*samples, **changes):
    return Measurement(**SIZES, samples=samples, **({"equal": True} | changes))


def test_median_and_deciles_of_eleven_samples():
    m = timed(*map(float, (10, 0, 1, 9, 8, 2, 7, 3, 6, 4, 5)))
    assert (m.p10, m.median, m.p90) == (1.0, 5.0, 9.0)


def test_one_sample_is_its_own_spread():
    m = timed(7.0)
    assert (m.p10, m.median, m.p90) == (7.0, 7.0, 7.0)


def test_without_samples_there_is_no_time():
    m = Measurement(**SIZES, error="memory must be enough.")
    assert all(math.isnan(value) for value in (m.p10, m.median, m.p90))
    assert m.to_json()["median"] is None


@pytest.mark.parametrize(
    ("m", "ok"),
    [
        (timed(1.0), True),
        (timed(1.0, equal=False), False),
        (timed(1.0, equal=None), False),
        (timed(), False),
    ],
)
def test_only_what_is_right_and_timed_is_ok(m, ok):
    assert m.ok is ok


def test_measurement_survives_json():
    m = timed(1.0, 2.0, weights=("W_query (15, 7)",), output=(1, 11, 15), disturbed="busy")
    assert Measurement.from_json(json.loads(json.dumps(m.to_json()))) == m


def test_all_that_follows_survives_json():
    m = timed(1.0, 2.0, limit=Limit((1.0,), (2.0, 3.0)), limit_ms=0.5, flops=7, peak_bytes=11)
    assert Measurement.from_json(json.loads(json.dumps(m.to_json()))) == m


def test_share_of_the_limit_and_rate_are_those_of_the_median():
    m = timed(4.0, limit_ms=1.0, flops=10)
    assert m.share == 0.25
    assert m.flops_per_second == 2500.0
    wrong = timed(4.0, limit_ms=1.0, flops=10, equal=False)
    assert (wrong.share, wrong.flops_per_second) == (None, None)


# ------------------------------------------------------------------ samples that are far out


def test_sample_far_out_is_marked_and_in_no_statistic():
    m = timed(2.0, 2.0, 2.2, 3_600_000.0, 2.1, 2.4)
    assert m.far_out == (3_600_000.0,)
    assert len(m.samples) == 6
    assert (m.median, m.p90) == (2.1, pytest.approx(2.32))


@pytest.mark.parametrize(
    "samples",
    [
        (1.0, 900.0),  # which of two is right nobody knows
        (1.0, 1.0, 1.0, 1.0, 1.0, 2.9),  # no more than three times the median
        (1.0, 2.0, 3.0, 4.0, 8.0),  # wide, but within the fence of 4 + 3 × 2
        (1.0,) * 6 + (20.0,) * 4,  # too many to be an accident
    ],
)
def test_what_only_spreads_is_kept(samples):
    assert timed(*samples).far_out == ()


class SleepyClock:
    """Seconds that pass while a call runs; in the tenth the laptop sleeps for an hour."""

    def __init__(self):
        self.now, self.calls = 0.0, 0

    def __call__(self):
        return self.now

    def call(self):
        self.calls += 1
        self.now += 3600.0 if self.calls == 10 else 0.25


def test_laptop_that_sleeps_does_not_change_the_statistics():
    clock = SleepyClock()
    samples = time_interleaved(
        {"looped": clock.call}, device="cpu", threads=1, rounds=8, min_run_time=2.0, clock=clock
    )["looped"]
    m = timed(*samples)
    assert m.far_out == (3_600_000.0,)
    assert (m.p10, m.median, m.p90) == (250.0, 250.0, 250.0)
