from dataclasses import replace

import pytest
import torch

from attention.benchmark import BenchmarkSettings, layer
from attention.benchmark.layer import build, describe_weights, free_memory, prepare
from attention.benchmark.passes import PASSES
from attention.errors import DeviceError
from attention.implementations import build_attention


def settings(**changes):
    values = {"heads": (3,), "d_out": 15, "d_in": 7, "seq_len": 11, "batch": 2}
    return BenchmarkSettings(**(values | changes))


@pytest.mark.parametrize("passes", PASSES)
def test_exact_result_is_the_reference_in_float64(passes):
    prepared = prepare(settings(passes=passes), 3)
    reference = build_attention("reference", prepared.config, prepared.weights, dtype=torch.float64)
    out, pattern = reference(prepared.x.double(), need_pattern=True)
    rows = 1 if passes == "decode" else 11  # of a whole text of 12 tokens the last
    assert prepared.x.shape[1] == (12 if passes == "decode" else 11)
    torch.testing.assert_close(prepared.exact.out, out[:, -rows:])
    torch.testing.assert_close(prepared.exact.pattern, pattern[:, :, -rows:])


def test_same_seed_gives_the_same_layer_and_another_seed_another():
    one, same, other = (prepare(settings(seed=seed), 3) for seed in (1, 1, 2))
    torch.testing.assert_close(one.x, same.x, rtol=0, atol=0)
    torch.testing.assert_close(one.weights.W_Q, same.weights.W_Q, rtol=0, atol=0)
    assert not torch.equal(one.x, other.x)


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("looped", "3 × heads.*.W_query (5, 7)"),
        ("batched", "W_query (15, 7)"),
        ("fused", "W_qkv (45, 7)"),
        ("reference", "W_Q (3, 7, 5)"),
    ],
)
def test_weights_are_written_out_queries_first(name, first):
    prepared = prepare(settings(), 3)
    weights = describe_weights(build(prepared, name))
    assert weights[0] == first
    assert weights[-1].startswith(("out_proj (15, 15)", "W_O (3, 5, 15)"))


def test_too_little_memory_is_refused_before_it_is_used(monkeypatch):
    monkeypatch.setattr(layer, "free_memory", lambda: 1000)
    with pytest.raises(DeviceError, match=r"patterns of 3 heads at 11 tokens; they need about"):
        prepare(settings(), 3)


def test_free_memory_is_read(tmp_path):
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 99 kB\nMemAvailable:     17 kB\n", encoding="ascii")
    assert free_memory(meminfo) == 17 * 1024
    assert free_memory(tmp_path / "missing") is None


def test_decoding_after_a_long_text_needs_no_square_of_it(monkeypatch):
    # 1,000 MB: the squares of 4 heads and 8,192 tokens would take 9 GB.
    monkeypatch.setattr(layer, "free_memory", lambda: 1_000_000_000)
    long = settings(heads=(4,), d_out=16, seq_len=8192, batch=1)
    layer._check_memory(replace(long, passes="decode"), 4)
    with pytest.raises(DeviceError, match="at 8192 tokens"):
        layer._check_memory(long, 4)
