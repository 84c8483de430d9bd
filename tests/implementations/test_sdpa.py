import torch

from attention.config import AttentionConfig
from attention.implementations import build_attention
from attention.implementations import sdpa as module_under_test
from attention.weights import HeadWeights


def build(dropout=0.0):
    config = AttentionConfig.total(7, 15, 3, 11, dropout=dropout)
    weights = HeadWeights.init(config, generator=torch.Generator().manual_seed(3))
    return build_attention("sdpa", config, weights)


def test_kernel_does_the_work_without_a_pattern(monkeypatch):
    # Asking for the pattern once took another path in silence, without the causal mask.
    calls = []
    kernel = module_under_test.scaled_dot_product_attention
    monkeypatch.setattr(
        module_under_test,
        "scaled_dot_product_attention",
        lambda *tensors, **options: calls.append(options) or kernel(*tensors, **options),
    )
    out, pattern = build()(torch.zeros(1, 5, 7), need_pattern=True)
    assert out.shape == (1, 5, 15)
    assert pattern is None
    assert [call["is_causal"] for call in calls] == [True]


def test_dropout_drops_in_training_only():
    x = torch.randn(1, 11, 7, generator=torch.Generator().manual_seed(4))
    module = build(dropout=0.5)
    torch.testing.assert_close(module(x), build()(x))
    assert (module.train()(x) - build()(x)).abs().max() > 0.01
