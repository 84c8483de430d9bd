import pytest

from attention.benchmark.fit import fit, fit_line
from attention.benchmark.measurement import Measurement


def point(num_heads, ms, disturbed=None, **changes):
    sizes = {"implementation": "looped", "num_heads": num_heads, "head_dim": 5, "d_out": 15}
    return Measurement(**sizes, samples=(ms,), disturbed=disturbed, **({"equal": True} | changes))


def test_straight_line_is_found():
    line = fit_line([1, 2, 4, 8], [5.0, 7.0, 11.0, 19.0])
    assert line.slope == pytest.approx(2.0)
    assert line.intercept == pytest.approx(3.0)
    assert line.r_squared == pytest.approx(1.0)
    assert line.at(16) == pytest.approx(35.0)


def test_r_squared_is_the_share_of_variance_explained():
    """Worked out by hand: slope 1.5, residuals 0.5 -1 0.5; 1.5 of 6 is left."""
    line = fit_line([1, 2, 3], [1.5, 1.5, 4.5])
    assert line.slope == pytest.approx(1.5)
    assert line.r_squared == pytest.approx(1 - 1.5 / 6)


def test_r_squared_of_two_points_says_nothing():
    assert fit_line([1, 2], [3.0, 5.0]).r_squared is None


def test_r_squared_of_equal_times_says_nothing():
    assert fit_line([1, 2, 4], [3.0, 3.0, 3.0]).r_squared is None


@pytest.mark.parametrize("heads", [[], [3], [3, 3]])
def test_one_head_count_has_no_line(heads):
    assert fit_line(heads, [1.0] * len(heads)) is None


def test_disturbed_points_are_left_out_while_three_quiet_ones_remain():
    points = [point(1, 1.0), point(2, 2.0), point(4, 4.0), point(8, 800.0, "busy")]
    line = fit(points)
    assert line.slope == pytest.approx(1.0)
    assert (line.points, line.disturbed) == (3, False)


def test_disturbed_points_are_used_for_want_of_quiet_ones():
    line = fit([point(1, 1.0), point(2, 2.0), point(4, 4.0, "busy")])
    assert (line.points, line.disturbed) == (3, True)


def test_points_without_a_time_do_not_count():
    wrong = point(8, 100.0, equal=False)
    assert fit([point(1, 1.0), point(2, 2.0), wrong]).points == 2
