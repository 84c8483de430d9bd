import torch

from attention.config import AttentionConfig
from attention.implementations import build_attention, sdpa
from attention.weights import HeadWeights


def test_each_head_calls_the_kernel_with_a_head_axis(monkeypatch):
    # With three axes PyTorch takes its slow path, and nothing says so.
    config = AttentionConfig.total(7, 15, 3, 11)
    weights = HeadWeights.init(config, generator=torch.Generator().manual_seed(3))
    calls, kernel = [], sdpa.scaled_dot_product_attention
    monkeypatch.setattr(
        sdpa,
        "scaled_dot_product_attention",
        lambda *tensors, **options: (
            calls.append((tensors[0].shape, options["is_causal"])) or kernel(*tensors, **options)
        ),
    )
    module = build_attention("looped_sdpa", config, weights)
    out, pattern = module(torch.zeros(2, 5, 7), need_pattern=True)
    assert calls == [((2, 1, 5, 5), True)] * 3
    assert out.shape == (2, 5, 15)
    assert pattern is None


def test_dropout_drops_in_training_only(generator):
    config = AttentionConfig.total(7, 15, 3, 11, dropout=0.5)
    module = build_attention("looped_sdpa", config, HeadWeights.init(config, generator=generator))
    x = torch.randn(1, 11, 7, generator=generator)
    whole = module(x)
    torch.testing.assert_close(module(x), whole, rtol=0, atol=0)
    assert (module.train()(x) - whole).abs().max() > 0.01
