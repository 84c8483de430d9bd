"""The check finds every implementation equal, and what is wrong in outputs, patterns, gradients."""

import pytest
import torch

from attention.benchmark import BenchmarkSettings, layer
from attention.benchmark.check import check
from attention.benchmark.layer import build, prepare
from attention.benchmark.passes import PASSES
from attention.implementations import IMPLEMENTATIONS


def settings(**changes):
    values = {"heads": (3,), "d_out": 15, "d_in": 7, "seq_len": 11, "batch": 2}
    return BenchmarkSettings(**(values | changes))


SQUARE = settings(d_in=15)  # one width in and out: `torch` computes no other
CASES = [
    (name, passes)
    for name, entry in IMPLEMENTATIONS.items()
    for passes, kind in PASSES.items()
    if entry.supports(SQUARE.config(3)) and kind.why_not(entry, "cpu") is None
]


def found(prepared, module):
    return check(prepared, prepared.ready(module), prepared.ready_to_check(module))


@pytest.fixture
def too_long(monkeypatch):
    """Only 4 tokens fit in float64."""
    monkeypatch.setattr(layer, "checked_tokens", lambda settings, num_heads: 4)


@pytest.mark.parametrize("passes", ["forward", "backward"])
@pytest.mark.parametrize("name", ["looped", "sdpa", "capture"])
def test_text_too_long_to_check_whole_is_found_equal(too_long, name, passes):
    prepared = prepare(settings(passes=passes), 3)
    told = found(prepared, build(prepared, name))
    assert told.equal
    assert (told.gradient_difference is None) == (passes == "forward")


def test_wrong_row_far_from_the_beginning_is_found_unequal(too_long):
    prepared = prepare(settings(), 3)
    module = build(prepared, "sdpa")
    forward = module.forward

    def late(x, need_pattern=False):
        out = forward(x)
        out[:, 9:] *= 1.01  # as a kernel whose index overflows in a long text
        return (out, None) if need_pattern else out

    module.forward = late
    assert not found(prepared, module).equal


def test_wrong_beginning_of_a_long_text_is_found_unequal(too_long):
    prepared = prepare(settings(), 3)
    module = build(prepared, "sdpa")
    forward = module.forward

    def early(x, need_pattern=False):
        out = forward(x)
        if x.shape[1] > 4:
            out[:, :2] *= 1.01
        return (out, None) if need_pattern else out

    module.forward = early
    assert not found(prepared, module).equal


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize(("name", "passes"), CASES)
def test_every_implementation_is_found_equal(name, passes, dtype):
    oblong = IMPLEMENTATIONS[name].supports(settings().config(3))
    prepared = prepare(settings(dtype=dtype, passes=passes, d_in=7 if oblong else 15), 3)
    told = found(prepared, build(prepared, name))
    assert told.equal
    assert (told.pattern_difference is None) == (not IMPLEMENTATIONS[name].has_pattern)
    assert (told.gradient_difference is None) == (not PASSES[passes].gradients)


@pytest.mark.parametrize("passes", PASSES)
@pytest.mark.parametrize("changes", [{"num_kv_heads": 1}, {"seq_len": 1}])
@pytest.mark.parametrize("name", ["looped", "vmap", "sdpa", "capture"])
def test_shared_kv_heads_and_a_single_token_are_found_equal(name, passes, changes):
    prepared = prepare(settings(passes=passes, **changes), 3)
    assert found(prepared, build(prepared, name)).equal


@pytest.mark.parametrize("passes", PASSES)
def test_wrong_weights_are_found_unequal(passes):
    prepared = prepare(settings(passes=passes), 3)
    module = build(prepared, "looped")
    head = module.heads[1].W_query
    head.weight = torch.nn.Parameter(head.weight * 1.01)
    assert not found(prepared, module).equal


@pytest.mark.parametrize("passes", PASSES)
def test_nan_is_found_unequal(passes):
    prepared = prepare(settings(passes=passes), 3)
    module = build(prepared, "batched")
    module.W_query.weight = torch.nn.Parameter(module.W_query.weight * float("nan"))
    told = found(prepared, module)
    assert not told.equal
    assert told.output_difference != told.output_difference


def test_wrong_pattern_with_a_right_output_is_found_unequal():
    prepared = prepare(settings(), 3)
    module = build(prepared, "batched")
    forward = module.forward

    def transposed(x, need_pattern=False):
        out, pattern = forward(x, True)
        return (out, pattern.transpose(-2, -1)) if need_pattern else out

    module.forward = transposed
    told = found(prepared, module)
    assert told.output_difference <= told.tolerance
    assert not told.equal


def test_what_is_timed_is_compared_too_and_not_only_what_returns_the_pattern():
    """`capture` computes otherwise where nobody asks for the pattern: only that was ever timed."""
    prepared = prepare(settings(), 3)
    module = build(prepared, "batched")
    forward = module.forward
    module.forward = lambda x, need_pattern=False: (
        forward(x, True) if need_pattern else 1.01 * forward(x)
    )
    assert not found(prepared, module).equal


class Wrong(torch.autograd.Function):
    """The number itself, and a gradient that is 1% too large."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return 1.01 * gradient


@pytest.mark.parametrize(
    ("part", "of"), [("W_key", "W_K"), ("W_value", "W_V"), ("out_proj", "W_O")]
)
def test_wrong_gradient_with_a_right_output_is_found_unequal(part, of):
    prepared = prepare(settings(passes="backward"), 3)
    module = build(prepared, "batched")
    linear = getattr(module, part)
    linear.forward = lambda x: torch.nn.functional.linear(
        x, Wrong.apply(linear.weight), linear.bias
    )
    told = found(prepared, module)
    assert told.output_difference <= told.tolerance
    assert told.gradient_of == of
    assert told.gradient_difference == pytest.approx(0.01, rel=1e-3)
    assert not told.equal


def test_wrong_gradient_of_the_input_is_found_unequal():
    prepared = prepare(settings(passes="backward"), 3)
    module = build(prepared, "looped")
    forward = module.forward
    module.forward = lambda x, *given, **more: forward(Wrong.apply(x), *given, **more)
    told = found(prepared, module)
    assert (told.gradient_of, told.equal) == ("x", False)


def test_cache_that_lost_a_token_is_found_unequal():
    prepared = prepare(settings(passes="decode"), 3)
    module = build(prepared, "batched")
    forward = module.forward

    def forgetful(x, need_pattern=False, *, cache):
        if x.shape[1] == 1:
            cache.kept[:, :, :, 4] = 0
        return forward(x, need_pattern, cache=cache)

    module.forward = forgetful
    assert not found(prepared, module).equal


def test_small_output_is_held_to_its_own_size():
    """Held to 0.03 whatever its size, a step that was 6% off passed for equal in bfloat16."""
    prepared = prepare(settings(passes="decode", dtype="bfloat16"), 3)
    module = build(prepared, "batched")
    assert 0.06 * prepared.exact.out.abs().max() < 0.03
    assert found(prepared, module).equal
    forward = module.forward

    def enlarged(x, need_pattern=False, *, cache):
        out = forward(x, need_pattern, cache=cache)
        return (1.06 * out[0], out[1]) if need_pattern else 1.06 * out

    module.forward = enlarged
    assert not found(prepared, module).equal
