import json
import math

import pytest

from attention.benchmark.measurement import Measurement

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
