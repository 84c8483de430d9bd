from dataclasses import replace

import pytest

from attention.benchmark import BenchmarkSettings, environment
from attention.benchmark.imported import Run
from attention.benchmark.measurement import Measurement
from attention.benchmark.overlay import comparison, differing, pairs
from attention.benchmark.summary import rows

HERE = BenchmarkSettings(heads=(1, 3), d_out=15, seq_len=11, threads=1)
LAB = replace(environment(HERE), device="cuda:0", device_title="NVIDIA H200")


def point(name, num_heads, *samples):
    return Measurement(
        implementation=name,
        num_heads=num_heads,
        head_dim=15 // num_heads,
        d_out=15,
        samples=samples,
        equal=True,
    )


def lab(*found, **changes):
    return Run(replace(HERE, **changes), LAB, found)


def test_pairs_are_what_both_timed():
    table = rows([point("looped", 3, 4.0), point("batched", 3, 2.0), point("looped", 1, 1.0)])
    run = lab(point("looped", 3, 1.0), point("batched", 3), point("looped", 5, 1.0))
    (pair,) = pairs(table, run)
    assert (pair.here.implementation, pair.here.num_heads) == ("looped", 3)
    assert pair.ratio == pytest.approx(0.25)


def test_times_are_told_at_the_most_heads_that_both_have():
    table = rows([point("looped", 1, 1.0), point("looped", 3, 4.0), point("batched", 3, 2.0)])
    run = lab(point("looped", 1, 0.5), point("looped", 3, 1.0), point("batched", 3, 0.5))
    assert comparison(HERE, table, run) == [
        "At 3 heads on NVIDIA H200, float32: Loop 1.00 ms against 4.00 ms here (0.250×), "
        "Batch 0.500 ms against 2.00 ms here (0.250×)."
    ]


def test_other_layer_or_pass_is_told_but_not_what_the_machine_tells():
    there = replace(HERE, seq_len=1024, batch=2, device="cuda:0", threads=8, heads=(7,), d_out=21)
    assert differing(HERE, there) == [
        "d_out 21 (here 15)",
        "seq_len 1024 (here 11)",
        "batch 2 (here 1)",
    ]
    said = comparison(HERE, [], lab(seq_len=1024))
    assert said[0] == "NVIDIA H200, float32 measured something else: seq_len 1024 (here 11)."


def test_nothing_in_common_is_told():
    said = comparison(HERE, rows([point("looped", 3, 4.0)]), lab(point("looped", 1, 1.0)))
    assert said == [
        "No head count and implementation was timed both here and on NVIDIA H200, float32."
    ]
