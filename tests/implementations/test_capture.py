import copy
import pickle

import pytest
import torch

from attention import capture
from attention.config import AttentionConfig
from attention.implementations import build_attention
from attention.rotary import Rotary
from attention.weights import HeadWeights

CONFIG = AttentionConfig.total(24, 48, 6, 211, num_kv_heads=2, qkv_bias=True)


def build(name="capture", *, dropout=0.0, dtype=torch.float32):
    config = AttentionConfig.total(24, 48, 6, 211, num_kv_heads=2, qkv_bias=True, dropout=dropout)
    weights = HeadWeights.init(config, generator=torch.Generator().manual_seed(3))
    return build_attention(name, config, weights.map(lambda t: 2 * t), dtype=dtype)


def sequence(seq_len=150, batch=1):
    return torch.randn(batch, seq_len, 24, generator=torch.Generator().manual_seed(4))


@pytest.fixture
def calls(monkeypatch):
    """Whether a pattern was asked for, at each call of the triangle."""
    found, attend = [], capture.attend
    monkeypatch.setattr(
        capture,
        "attend",
        lambda *tensors, scale, need_pattern: (
            found.append(need_pattern) or attend(*tensors, scale=scale, need_pattern=need_pattern)
        ),
    )
    return found


@pytest.mark.parametrize("batch", [1, 3])
def test_pattern_is_within_a_millionth_of_float64(batch, calls):
    x, rotary = sequence(batch=batch), Rotary(8, 211)
    with torch.no_grad():
        out, pattern = build()(x, need_pattern=True, rotary=rotary)
        exact_out, exact = build("fused", dtype=torch.float64)(
            x.double(), need_pattern=True, rotary=rotary.double()
        )
    assert calls == [True]
    torch.testing.assert_close(pattern.double(), exact, rtol=0, atol=1e-6)
    torch.testing.assert_close(out.double(), exact_out, rtol=1e-5, atol=1e-5)
    assert torch.count_nonzero(pattern.triu(1)) == 0


def test_no_pattern_is_written_where_nobody_asks_for_it(calls):
    with torch.inference_mode():
        build()(sequence())
    assert calls == [False]


def test_pattern_of_one_forward_outlives_the_next():
    module = build()
    with torch.no_grad():
        _, pattern = module(sequence(200), need_pattern=True)
        kept = pattern.clone()
        module(-sequence(200), need_pattern=True)
    torch.testing.assert_close(pattern, kept, rtol=0, atol=0)


def test_gradients_take_the_way_that_can_be_differentiated(calls):
    module, fused = build().train(), build("fused").train()
    x = sequence().requires_grad_()
    module(x).square().sum().backward()
    found, x.grad = x.grad, None
    fused(x).square().sum().backward()
    assert calls == []
    torch.testing.assert_close(found, x.grad, rtol=0, atol=0)


def test_dropout_drops_in_training_without_gradients_too(calls):
    x = sequence()
    module = build(dropout=0.5)
    with torch.no_grad():
        whole = module(x)
        assert (module.train()(x) - whole).abs().max() > 0.01
    assert calls == [False]


def test_autocast_takes_the_plain_way(calls):
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        assert build()(sequence()).isfinite().all()
    assert calls == []


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_layer_can_be_copied_and_pickled_after_use(copied):
    module, x = build(), sequence()
    with torch.no_grad():
        out, pattern = module(x, need_pattern=True)
        torch.testing.assert_close(copied(module)(x, need_pattern=True), (out, pattern))


def test_needs_no_compiler(calls):
    capture.use_native(False)
    try:
        assert capture.capture_core().name == "torch"
        with torch.no_grad():
            found = build()(sequence())
    finally:
        capture.use_native(None)
    torch.testing.assert_close(found, build("fused")(sequence()).detach(), rtol=1e-5, atol=1e-5)
    assert calls == [False]
