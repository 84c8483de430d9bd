import torch

from attention.config import AttentionConfig
from attention.implementations import build_attention
from attention.weights import HeadWeights


def test_x_is_multiplied_once(generator, monkeypatch):
    config = AttentionConfig.total(7, 45, 9, 11, num_kv_heads=3, out_proj=False)
    module = build_attention("fused", config, HeadWeights.init(config, generator=generator))
    calls = []
    linear = torch.nn.functional.linear
    monkeypatch.setattr(
        "torch.nn.functional.linear",
        lambda *arguments: calls.append(arguments[1].shape) or linear(*arguments),
    )
    module(torch.randn(1, 5, 7, generator=generator))
    assert calls == [(45 + 15 + 15, 7)]
