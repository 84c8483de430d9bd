import pytest
import torch

from attention.benchmark import BenchmarkSettings, layer
from attention.benchmark.layer import build, describe_weights, distant_rows, prepare
from attention.benchmark.passes import PASSES
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


@pytest.mark.parametrize("kv_heads", [None, 1])
def test_distant_rows_are_those_of_the_whole_text(kv_heads):
    prepared = prepare(settings(num_kv_heads=kv_heads), 3)
    exact = build_attention("batched", prepared.config, prepared.weights, dtype=torch.float64)
    found = distant_rows(exact, prepared.x.double(), (0, 7, 10))
    torch.testing.assert_close(found, prepared.exact.out[:, [0, 7, 10]])


@pytest.mark.parametrize("passes", ["forward", "backward"])
def test_text_too_long_to_compute_whole_has_a_beginning_and_rows_of_the_rest(monkeypatch, passes):
    whole = prepare(settings(passes=passes), 3)
    monkeypatch.setattr(layer, "checked_tokens", lambda settings, num_heads: 4)
    part = prepare(settings(passes=passes), 3)
    torch.testing.assert_close(part.exact.out, whole.exact.out[:, :4])
    assert part.distant.rows == (4, 5, 6, 7, 8, 9, 10)
    torch.testing.assert_close(part.distant.out, whole.exact.out[:, 4:])


@pytest.mark.parametrize("end", [5, 20, 37, 1000])
def test_distant_rows_are_spread_up_to_the_last(end):
    rows = layer._spread(4, end)
    assert rows[-1] == end - 1
    assert rows[0] >= 4
    assert list(rows) == sorted(set(rows))
    assert len(rows) == min(layer.DISTANT, end - 4)
