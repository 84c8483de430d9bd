import torch

from attention.config import AttentionConfig
from attention.implementations import build_attention
from attention.weights import HeadWeights


def test_dropout_is_no_part_of_the_formula(generator):
    config = AttentionConfig.total(7, 15, 3, 11, dropout=0.5)
    weights = HeadWeights.init(config, generator=generator)
    module = build_attention("reference", config, weights)
    x = torch.randn(1, 5, 7, generator=generator)
    torch.testing.assert_close(module.train()(x), module.eval()(x), rtol=0, atol=0)
