import pytest

from attention.benchmark.intervals import merged, overlap, union


@pytest.mark.parametrize(
    ("intervals", "length"),
    [
        ([], 0),
        ([(0, 2), (1, 3), (5, 6)], 4),
        ([(5, 6), (0, 9), (2, 3)], 9),  # one within another, in no order
        ([(0, 1), (1, 2)], 2),
    ],
)
def test_union_counts_every_moment_once(intervals, length):
    assert union(intervals) == length


def test_merged_intervals_do_not_touch():
    assert merged([(4, 5), (0, 1), (1, 2)]) == [(0, 2), (4, 5)]


@pytest.mark.parametrize(
    ("lanes", "length"),
    [
        ([], 0),
        ([[(0, 3), (1, 2)]], 0),  # nested operators of one head are no overlap of heads
        ([[(0, 1)], [(1, 2)]], 0),  # one after the other
        ([[(0, 3), (1, 2)], [(2, 5)]], 1),
        ([[(0, 10)], [(1, 2), (4, 6)], [(5, 8)]], 5),  # three at once count once
    ],
)
def test_overlap_is_the_time_in_which_two_lanes_run(lanes, length):
    assert overlap(lanes) == length
