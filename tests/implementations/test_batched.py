import torch

from attention.config import AttentionConfig
from attention.implementations import build_attention
from attention.implementations.base import merge_heads, split_heads
from attention.weights import HeadWeights


def test_heads_are_split_off_the_features_not_off_the_positions():
    # `view(B, H, T, d)` without the transpose has the same shape and mixes positions.
    x = torch.arange(2 * 11 * 15).reshape(2, 11, 15)
    split = split_heads(x, 3)
    assert split.shape == (2, 3, 11, 5)
    torch.testing.assert_close(split[1, 2, 7], x[1, 7, 10:15])
    torch.testing.assert_close(merge_heads(split), x)


def test_dropout_drops_in_training(generator):
    config = AttentionConfig.total(7, 15, 3, 11, dropout=0.5)
    module = build_attention("batched", config, HeadWeights.init(config, generator=generator))
    x = torch.randn(1, 11, 7, generator=generator)
    whole = module(x)
    assert (module.train()(x) - whole).abs().max() > 0.01
