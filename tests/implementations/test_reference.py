import math
from dataclasses import replace

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


def test_a_window_and_a_cap_worked_by_hand():
    # q = k = v = x = (1, 2, 3), scores of the last row 3, 6, 9; a window of 2 leaves 6 and 9;
    # a cap of 3 makes 3 tanh(2) and 3 tanh(3) of them.
    config = replace(AttentionConfig.total(1, 1, 1, 5, out_bias=False), window=2, soft_cap=3.0)
    one = torch.ones(1, 1, 1)
    module = build_attention(
        "reference", config, HeadWeights(W_Q=one, W_K=one, W_V=one, W_O=one), dtype=torch.float64
    )
    x = torch.tensor([[[1.0], [2.0], [3.0]]], dtype=torch.float64)
    _, pattern = module(x, need_pattern=True)
    last = 1 / (1 + math.exp(3 * math.tanh(2) - 3 * math.tanh(3)))
    torch.testing.assert_close(
        pattern[0, 0, 2], torch.tensor([0.0, 1 - last, last], dtype=torch.float64)
    )
