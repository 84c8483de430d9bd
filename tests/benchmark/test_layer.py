import pytest
import torch

from attention.benchmark import BenchmarkSettings, layer
from attention.benchmark.layer import build, call, check, describe_weights, free_memory, prepare
from attention.errors import DeviceError
from attention.implementations import IMPLEMENTATIONS, build_attention


def settings(**changes):
    values = {"heads": (3,), "d_out": 15, "d_in": 7, "seq_len": 11, "batch": 2}
    return BenchmarkSettings(**(values | changes))


SQUARE = settings(d_in=15)  # one width in and out: `torch` computes no other
NAMES = [name for name, entry in IMPLEMENTATIONS.items() if entry.supports(SQUARE.config(3))]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_implementation_is_found_equal(name, dtype):
    oblong = IMPLEMENTATIONS[name].supports(settings().config(3))
    prepared = prepare(settings(dtype=dtype, d_in=7 if oblong else 15), 3)
    found = check(prepared, build(prepared, name))
    assert found.equal
    assert (found.pattern_difference is None) == (not IMPLEMENTATIONS[name].has_pattern)


def test_exact_result_is_the_reference_in_float64():
    prepared = prepare(settings(), 3)
    reference = build_attention("reference", prepared.config, prepared.weights, dtype=torch.float64)
    out, pattern = reference(prepared.x.double(), need_pattern=True)
    torch.testing.assert_close(prepared.out, out)
    torch.testing.assert_close(prepared.pattern, pattern)


def test_same_seed_gives_the_same_layer_and_another_seed_another():
    one, same, other = (prepare(settings(seed=seed), 3) for seed in (1, 1, 2))
    torch.testing.assert_close(one.x, same.x, rtol=0, atol=0)
    torch.testing.assert_close(one.weights.W_Q, same.weights.W_Q, rtol=0, atol=0)
    assert not torch.equal(one.x, other.x)


def test_wrong_weights_are_found_unequal():
    prepared = prepare(settings(), 3)
    module = build(prepared, "looped")
    head = module.heads[1].W_query
    head.weight = torch.nn.Parameter(head.weight * 1.01)
    assert not check(prepared, module).equal


def test_nan_is_found_unequal():
    prepared = prepare(settings(), 3)
    module = build(prepared, "batched")
    module.W_query.weight = torch.nn.Parameter(module.W_query.weight * float("nan"))
    assert not check(prepared, module).equal


def test_wrong_pattern_with_a_right_output_is_found_unequal():
    prepared = prepare(settings(), 3)
    module = build(prepared, "batched")
    forward = module.forward

    def transposed(x, need_pattern=False):
        out, pattern = forward(x, True)
        return (out, pattern.transpose(-2, -1)) if need_pattern else out

    module.forward = transposed
    found = check(prepared, module)
    assert found.output_difference <= found.tolerance
    assert not found.equal


def test_forward_call_makes_no_gradients():
    prepared = prepare(settings(), 3)
    with torch.inference_mode():
        out = call(prepared, build(prepared, "looped"))()
    assert out.shape == (2, 11, 15)


def test_backward_call_computes_the_gradient_of_every_weight(monkeypatch):
    prepared = prepare(settings(passes="backward"), 3)
    module = build(prepared, "looped")
    seen = []
    grad = torch.autograd.grad
    monkeypatch.setattr(
        torch.autograd, "grad", lambda *given: seen.append(grad(*given)) or seen[-1]
    )
    backward = call(prepared, module)
    with torch.inference_mode():  # as the timer calls it
        backward()
    assert len(seen[0]) == 1 + len(list(module.parameters()))
    assert all(gradient.abs().sum() > 0 for gradient in seen[0])


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
