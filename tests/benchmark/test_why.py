from dataclasses import replace

import pytest

from attention.benchmark.measurement import Measurement
from attention.benchmark.settings import BenchmarkSettings
from attention.benchmark.summary import Row
from attention.benchmark.trace import DISPATCH, KINDS, WAITING, Operator, Trace
from attention.benchmark.why import why, why_the_loop_wins

SPENT = {**dict.fromkeys((*KINDS, DISPATCH, WAITING), 0.0), "GEMM": 750.0, WAITING: 250.0}


def operator(head, start, end, thread=1):
    return Operator("aten::mm", "GEMM", head, thread, start, end)


LOOP = Trace(
    operators=(operator(0, 0, 400), operator(1, 500, 1000)),
    heads={0: (0, 400), 1: (500, 1000)},
    span=1000.0,
    spent=SPENT,
    calls=190,
    calls_in_heads=178,
)


def test_heads_that_follow_each_other_do_not_overlap():
    first, calls, shares = why(LOOP, "looped")
    assert first == (
        "No two heads run at once: the operators of the 2 heads follow each other on 1 thread, "
        "0 µs of overlap in 1.00 ms."
    )
    assert calls == "Loop dispatches 190 operators: 89 for each of 2 heads, and 12 for the layer."
    assert shares == (
        "Where the time goes under the profiler: GEMM 75%, the time between operators, in "
        "Python 25%."
    )


def test_heads_at_once_are_told_with_how_long():
    at_once = replace(LOOP, operators=(operator(0, 0, 400), operator(1, 150, 1000, thread=2)))
    assert why(at_once, "looped")[0] == (
        "Operators of two heads or more run at once for 0.250 ms of 1.00 ms (25%), on 2 threads."
    )


def test_pool_of_one_thread_is_told_as_why_nothing_overlaps():
    """The layer's own operators are on another thread, which has no part in it."""
    on_the_pool = replace(LOOP, operators=(*LOOP.operators, operator(None, 1000, 1010, thread=2)))
    first, why_not, *_ = why(on_the_pool, "threads")
    assert "follow each other on 1 thread, " in first
    assert why_not.startswith("Its pool has one thread, ")
    assert not any("pool" in said for said in why(on_the_pool, "looped"))
    two = replace(LOOP, operators=(operator(0, 0, 400), operator(1, 500, 1000, thread=2)))
    assert not any("pool" in said for said in why(two, "threads"))


def test_operators_by_the_thousand_are_written_so():
    assert "dispatches 1,438 operators: " in why(replace(LOOP, calls=1438), "looped")[1]


def test_heads_that_differ_in_their_operators_are_told_by_their_mean():
    assert "89.5 for each of 2 heads" in why(replace(LOOP, calls_in_heads=179), "looped")[1]


def test_disturbed_trace_is_said_to_be_so():
    # On a busy machine 94% of a pass was softmax: two threads that waited for a core.
    busy = replace(LOOP, disturbed="other programs kept 1.8 of 2 cores busy")
    assert why(busy, "looped")[-1].startswith(
        "Other programs kept 1.8 of 2 cores busy meanwhile: the time of this pass"
    )
    assert len(why(LOOP, "looped")) == 3


def test_single_head_is_one():
    one = replace(LOOP, heads={0: (0, 1)}, calls_in_heads=75)
    assert "75 for the head, and 115 for the layer." in why(one, "looped")[1]


@pytest.mark.parametrize(
    ("heads", "words"),
    [({}, "Batch has no single heads that could run at once"), ({0: (0, 1)}, "There is one head")],
)
def test_one_head_or_none_apart_has_nothing_to_overlap(heads, words):
    sentences = why(replace(LOOP, heads=heads), "batched")
    assert sentences[0].startswith(words)


def test_batch_counts_its_operators_for_all_heads():
    assert why(replace(LOOP, heads={}, calls=116), "batched")[1] == (
        "Batch dispatches 116 operators, for all heads together."
    )


# ------------------------------------------------------------------ page faults

LONG = BenchmarkSettings(heads=(12,), d_out=768, seq_len=1024)


def row(loop, batch):
    return Row(
        12,
        {
            name: Measurement(
                implementation=name, num_heads=12, head_dim=64, d_out=768, faults=faults
            )
            for name, faults in (("looped", loop), ("batched", batch))
        },
    )


def test_many_page_faults_of_the_batch_explain_why_the_loop_wins():
    assert why_the_loop_wins(LONG, row(340, 24_600)) == (
        "Why: the batch keeps the scores of all 12 heads in one tensor of 50.3 MB, the loop those "
        "of one head at a time, 4.19 MB; memory that large goes back to the system after each "
        "pass and returns page by page: 24,600 page faults a pass in the batch, 340 in the loop."
    )


@pytest.mark.parametrize(("loop", "batch"), [(3, 7), (20_000, 24_600)])
def test_page_faults_that_are_few_or_alike_explain_nothing(loop, batch):
    said = why_the_loop_wins(LONG, row(loop, batch))
    assert said == (
        f"Page faults don't explain it: {batch:,} page faults a pass in the batch, "
        f"{loop:,} in the loop."
    )


def test_nothing_is_said_where_nothing_was_counted_or_the_loop_does_not_win():
    assert why_the_loop_wins(LONG, row(None, None)) is None
    assert why_the_loop_wins(LONG, None) is None


def test_scores_of_a_decode_step_are_one_row_a_head():
    said = why_the_loop_wins(replace(LONG, passes="decode"), row(340, 24_600))
    assert "in one tensor of 49.2 kB, the loop those of one head at a time, 4.10 kB" in said
