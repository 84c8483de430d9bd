import pytest

from attention.benchmark import BenchmarkSettings
from attention.benchmark.measurement import Measurement
from attention.benchmark.summary import crossover, lines, number, rows, sentences

TOTAL = BenchmarkSettings(heads=(1,), d_out=768)
PER_HEAD = BenchmarkSettings(heads=(1,), d_out_per_head=64)


def point(name, num_heads, ms, **changes):
    sizes = {"implementation": name, "num_heads": num_heads, "head_dim": 5, "d_out": 15}
    return Measurement(**sizes, **({"samples": (ms,), "equal": True} | changes))


def table(*times, disturbed=None):
    """Rows of (heads, loop ms, batch ms)."""
    return rows(
        point(name, heads, ms, disturbed=disturbed)
        for heads, *both in times
        for name, ms in zip(("looped", "batched"), both, strict=True)
    )


def test_rows_rise_and_the_last_measurement_counts():
    found = rows([point("looped", 8, 1.0), point("looped", 2, 3.0), point("looped", 8, 5.0)])
    assert [row.num_heads for row in found] == [2, 8]
    assert found[1].by_name["looped"].median == 5.0


def test_ratio_is_the_loop_over_the_batch():
    (row,) = table((4, 3.0, 2.0))
    assert row.ratio == pytest.approx(1.5)


def test_there_is_no_ratio_to_what_was_not_timed():
    wrong = point("batched", 4, 2.0, equal=False)
    assert rows([point("looped", 4, 3.0), wrong])[0].ratio is None
    assert rows([point("looped", 4, 3.0)])[0].ratio is None


def test_cost_of_a_head_with_the_total_fixed():
    said = sentences(TOTAL, table((1, 1.23, 1.007), (2, 1.46, 1.014), (4, 1.92, 1.028)))
    assert said[0] == (
        "With the total width fixed at 768, each head added costs "
        "the loop 0.230 ms (R² 1.000) and the batch 0.007 ms (R² 1.000)."
    )


def test_cost_of_a_head_with_each_head_fixed():
    said = sentences(PER_HEAD, table((1, 2.0, 1.5), (2, 4.0, 3.0)))
    assert said[0] == (
        "With 64 features a head the layer itself grows: each head costs "
        "the loop 2.00 ms and the batch 1.50 ms."
    )


def test_longer_time_of_the_loop_is_told_at_the_most_heads():
    assert "At 8 heads the loop takes 2.50× as long: 5.00 ms against 2.00 ms." in sentences(
        TOTAL, table((1, 1.0, 1.0), (8, 5.0, 2.0))
    )


def test_equal_times_are_called_so():
    said = sentences(TOTAL, table((1, 1.01, 1.0)))
    assert said == ["At 1 head loop and batch take the same time: 1.01 ms against 1.00 ms."]


def test_loop_that_wins_is_told_with_the_count_and_by_how_much():
    said = sentences(TOTAL, table((1, 30.0, 30.0), (8, 33.0, 52.0)))
    assert "The loop wins at 8 heads, by 19.0 ms (37%)." in said
    assert "At 8 heads the loop takes only 0.635× as long: 33.0 ms against 52.0 ms." in said


def test_several_wins_of_the_loop_are_listed_with_the_largest():
    said = sentences(TOTAL, table((2, 8.0, 10.0), (8, 5.0, 10.0)))
    assert "The loop wins at 2, 8 heads, by up to 5.00 ms (50%) at 8." in said


@pytest.mark.parametrize(
    ("loop", "disturbed", "wins"),
    [
        (0.9, None, True),
        (0.97, None, False),
        (0.9, "busy", True),
    ],
)
def test_win_of_the_loop_must_be_clear(loop, disturbed, wins):
    (row,) = table((2, loop, 1.0), disturbed=disturbed)
    assert row.loop_wins is wins


@pytest.mark.parametrize(("disturbed", "wins"), [(None, True), ("busy", False)])
def test_spreads_that_overlap_are_a_win_on_a_quiet_machine_only(disturbed, wins):
    loop = point("looped", 2, 0.0, samples=(0.5, 0.7, 0.9), disturbed=disturbed)
    batch = point("batched", 2, 0.0, samples=(0.8, 1.0, 1.2), disturbed=disturbed)
    assert rows([loop, batch])[0].loop_wins is wins


def test_head_that_costs_nothing_is_told_so():
    said = sentences(TOTAL, table((1, 1.0, 2.0), (2, 2.0, 1.9), (4, 4.0, 1.7)))[0]
    assert said.endswith("the batch nothing measurable (−0.100 ms, R² 1.000).")


def test_win_by_the_median_alone_is_none():
    """A few slow samples of the batch are no win of the loop."""
    loop = point("looped", 2, 0, samples=(1.0,) * 11)
    batch = point("batched", 2, 0, samples=(0.9,) * 5 + (2.0,) * 6)
    (row,) = rows([loop, batch])
    assert row.ratio < 0.9
    assert not row.loop_wins


def test_crossover_is_where_the_lines_between_the_points_meet():
    """The loop leads by 1 ms at 4 heads and lags by 3 ms at 8."""
    assert crossover(table((4, 9.0, 10.0), (8, 13.0, 10.0))) == pytest.approx(5.0)


def test_times_that_change_places_twice_have_no_crossover():
    """The batch led at 1 head and from 3 on, the loop at 2; the chart said "about 1.2 heads"."""
    assert crossover(table((1, 1.1, 1.0), (2, 1.0, 1.2), (3, 2.0, 1.0))) is None


def test_even_times_are_no_crossover():
    assert crossover(table((1, 1.0, 1.0), (2, 1.02, 1.0), (4, 2.0, 1.0))) is None


def test_disturbed_points_are_told_and_whether_the_fit_uses_them():
    said = sentences(TOTAL, table((1, 1.0, 1.0), (2, 2.0, 1.0), disturbed="busy"))
    assert said[-1].startswith(
        "Other programs disturbed the times at 1, 2 heads: the fit uses them"
    )


def test_share_of_the_limit_is_told_at_the_most_heads_that_have_one():
    found = [point("looped", 4, 4.0, limit_ms=1.0), point("batched", 4, 2.0, limit_ms=1.5)]
    found.append(point("looped", 8, 9.0))
    assert (
        "Of the FLOP/s of plain matrix products of the same shapes, at 4 heads: "
        "Loop 25%; Batch 75%." in sentences(TOTAL, rows(found))
    )


def test_share_of_the_limit_on_a_disturbed_machine_is_not_told():
    quiet = point("looped", 2, 4.0, limit_ms=1.0)
    busy = point("looped", 4, 4.0, limit_ms=184.0, disturbed="busy")
    said = " ".join(sentences(TOTAL, rows([quiet, busy])))
    assert "at 2 heads: Loop 25%" in said
    assert "4600%" not in said


def test_samples_far_out_are_told():
    slept = point("looped", 4, 0, samples=(2.0, 2.0, 2.0, 2.0, 90_000.0))
    assert (
        "Samples far out, as when a laptop sleeps or the system stands still, are left out: "
        "1 of 5 of Loop at 4 heads (90,000 ms)." in sentences(TOTAL, rows([slept]))
    )


def test_many_samples_far_out_are_told_by_their_range():
    # A busy machine filled half a page with numbers.
    busy = point("looped", 4, 0, samples=(*[2.0] * 20, 60.0, 9.0, 80.0))
    assert "3 of 23 of Loop at 4 heads (9.00 to 80.0 ms)." in " ".join(
        sentences(TOTAL, rows([busy]))
    )


def test_disturbed_point_alone_says_nothing_of_a_fit_that_there_is_not():
    assert "Other programs disturbed the times at 1 head." in sentences(
        TOTAL, table((1, 1.0, 1.0), disturbed="busy")
    )


def test_text_that_was_checked_in_part_is_said_to_be():
    settings = BenchmarkSettings(heads=(4,), d_out=768, seq_len=32768)
    found = rows([point("looped", 4, 1.0, checked_tokens=1024)])
    assert (
        "A text of 32,768 tokens is too long to compute whole in float64 here: compared with it "
        "were the first 1,024 tokens, and single rows of the rest." in sentences(settings, found)
    )


def test_failure_is_told_once():
    failed = [
        point(name, 4, 0, samples=(), equal=None, error="memory must be enough.")
        for name in ("looped", "batched")
    ]
    assert sentences(TOTAL, rows(failed)) == ["memory must be enough."]


def test_many_failures_are_told_by_the_first():
    """A sentence for each head count pushed the table off the page."""
    failed = [
        point("looped", n, 0, samples=(), equal=None, error=f"{n} GB are too many.")
        for n in (2, 4, 8)
    ]
    assert sentences(TOTAL, rows(failed)) == [
        "Something has no time at 2, 4, 8 heads. At 2 heads: 2 GB are too many. "
        "The other reasons are among the table's notes."
    ]


def test_nothing_measured_says_nothing():
    assert sentences(TOTAL, []) == []
    assert lines(TOTAL, []) == {}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (0.22749, "0.227"),
        (0.0071, "0.007"),
        (2.436, "2.44"),
        (12.34, "12.3"),
        (99.96, "100"),
        (1234.5, "1,230"),
        (-0.014, "−0.014"),
    ],
)
def test_numbers_have_three_figures(value, shown):
    assert number(value) == shown


# ------------------------------------------------------------------ the book's mask


def with_book(book, loop):
    return rows([point("looped_book", 8, book), point("looped", 8, loop)])


def test_cost_of_the_books_mask_is_told_apart_from_the_loops():
    assert (
        "Of the book's loop at 8 heads, 3.00 ms of 5.00 ms are its float mask, converted in every "
        "head: the mask's cost, not the loop's."
    ) in sentences(TOTAL, with_book(5.0, 2.0))


def test_mask_that_costs_nothing_is_said_to():
    assert (
        "The book's mask costs nothing measurable at 8 heads: 2.02 ms against 2.00 ms."
    ) in sentences(TOTAL, with_book(2.02, 2.0))


def test_no_mask_is_spoken_of_where_the_books_loop_was_not_timed():
    failed = rows([point("looped_book", 8, 5.0, equal=False), point("looped", 8, 2.0)])
    assert not any("mask" in said for said in sentences(TOTAL, failed))
