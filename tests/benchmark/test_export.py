import csv
import io
import json
from dataclasses import replace

import pytest

from attention.benchmark import BenchmarkSettings, environment
from attention.benchmark.export import to_csv, to_json
from attention.benchmark.imported import read_run
from attention.benchmark.limit import Limit
from attention.benchmark.measurement import Measurement

SETTINGS = BenchmarkSettings(heads=(3,), d_out=15, d_in=7, seq_len=11, threads=2)
SIZES = {"num_heads": 3, "head_dim": 5, "d_out": 15}
LOOP = Measurement(
    implementation="looped",
    **SIZES,
    samples=(3.0, 3.0),
    equal=True,
    output_difference=2e-7,
    weights=("3 × heads.*.W_query (5, 7)",),
    output=(1, 11, 15),
)
BATCH = Measurement(implementation="batched", **SIZES, samples=(2.0,), equal=True)
FAILED = Measurement(implementation="sdpa", **SIZES, error='memory, "enough"')


def test_csv_has_a_row_for_each_measurement():
    table = list(csv.DictReader(io.StringIO(to_csv(SETTINGS, [LOOP, BATCH, FAILED]))))
    loop, batch, failed = table
    assert (loop["median_ms"], loop["samples"], loop["ratio_to_batched"]) == ("3.0", "2", "1.5")
    assert (loop["reading"], loop["d_in"], loop["seq_len"], loop["threads"]) == (
        "total", "7", "11", "2",
    )  # fmt: skip
    assert loop["weights"] == "3 × heads.*.W_query (5, 7)"
    assert batch["ratio_to_batched"] == "1.0"
    assert (failed["median_ms"], failed["ratio_to_batched"]) == ("", "")
    assert failed["error"] == 'memory, "enough"'


def test_csv_has_what_follows_from_a_measurement():
    full = Measurement(
        implementation="looped", **SIZES, samples=(4.0,), equal=True, flops=8_000_000,
        moved_bytes=11, limit_ms=1.0, least_ms=0.5, peak_bytes=13, operators=17, compile_s=6.5,
        gradient_difference=3e-7, gradient_of="W_K",
    )  # fmt: skip
    (row,) = csv.DictReader(io.StringIO(to_csv(SETTINGS, [full])))
    assert (row["flops"], row["gflops_per_s"], row["share_of_plain_products"]) == (
        "8000000", "2.0", "0.25",
    )  # fmt: skip
    assert (row["moved_bytes"], row["limit_ms"], row["least_ms"]) == ("11", "1.0", "0.5")
    assert (row["peak_bytes"], row["operators"], row["kernels"]) == ("13", "17", "")
    assert (row["num_kv_heads"], row["l2"]) == ("3", "cold")
    assert (row["compile_s"], row["compiled"]) == ("6.5", "False")
    assert (row["gradient_difference"], row["gradient_of"]) == ("3e-07", "W_K")
    assert row["impossible"] == "False"


def test_json_has_the_samples_the_environment_and_what_they_say():
    found = json.loads(to_json(SETTINGS, environment(SETTINGS), [LOOP, BATCH, FAILED]))
    assert (found["format"], found["version"]) == ("headscope-bench", 2)
    assert BenchmarkSettings.from_json(found["settings"]) == SETTINGS
    assert found["environment"]["threads"] == 2
    assert [m["samples"] for m in found["measurements"]] == [[3.0, 3.0], [2.0], []]
    assert found["ratios_looped_to_batched"] == {"3": 1.5}
    assert any("1.50× as long" in sentence for sentence in found["sentences"])


def test_json_has_no_nan():
    # A result with a NaN in it could not be exported at all.
    wrong = Measurement(
        implementation="looped", **SIZES, equal=False, output_difference=float("nan")
    )
    assert "NaN" not in to_json(SETTINGS, environment(SETTINGS), [FAILED, wrong])


def test_samples_of_a_gpu_can_be_read_again():
    # A sample for each call and a line for each sample: 8 MB were full after a few head counts.
    plain = tuple(0.0123456789 + 1e-9 * i for i in range(10_000))
    found = [
        Measurement(
            implementation=name, num_heads=n, head_dim=15 // n, d_out=15, equal=True,
            samples=plain, limit=Limit(plain, plain),
        )
        for n in (1, 3, 5, 15)
        for name in ("looped", "batched")
    ]  # fmt: skip
    settings = replace(SETTINGS, heads=(1, 3, 5, 15))
    data = to_json(settings, environment(settings), found).encode()
    assert len(data) < 4_000_000
    read = read_run(data).measurements[0]
    assert read.samples == pytest.approx(plain, rel=1e-8)


def test_lists_of_numbers_take_one_line():
    text = to_json(SETTINGS, environment(SETTINGS), [LOOP])
    assert '"samples": [ 3.0, 3.0 ]' in text


def test_text_within_a_result_is_left_as_it_is():
    odd = replace(LOOP, error="[\n  1,\n  2\n]  two  spaces")
    text = to_json(SETTINGS, environment(SETTINGS), [odd])
    assert json.loads(text)["measurements"][0]["error"] == odd.error
