"""Lengths of sets of time intervals."""

from collections.abc import Iterable

Interval = tuple[float, float]  # start, end


def union(intervals: Iterable[Interval]) -> float:
    """How long at least one of the intervals lasts.

    Example:
        `union([(0, 2), (1, 3), (5, 6)])` is 4.
    """
    return sum(end - start for start, end in merged(intervals))


def merged(intervals: Iterable[Interval]) -> list[Interval]:
    """The same times as intervals that do not touch, rising."""
    found: list[Interval] = []
    for start, end in sorted(intervals):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def overlap(lanes: Iterable[Iterable[Interval]]) -> float:
    """How long at least two lanes run at once; what overlaps within one lane counts once.

    Example:
        `overlap([[(0, 3), (1, 2)], [(2, 5)]])` is 1.
    """
    steps = [
        (time, change)
        for lane in lanes
        for start, end in merged(lane)
        for time, change in ((start, 1), (end, -1))
    ]
    total, running, before = 0.0, 0, 0.0
    for time, change in sorted(steps):  # an end comes before a start at the same time
        if running >= 2:
            total += time - before
        running, before = running + change, time
    return total
