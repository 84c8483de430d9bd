"""Weights in which every part is there and no two sizes are equal."""

import pytest

from attention.config import AttentionConfig
from attention.weights import HeadWeights


@pytest.fixture
def config():
    return AttentionConfig.total(7, 45, 9, 11, num_kv_heads=3, qkv_bias=True)


@pytest.fixture
def weights(config, generator):
    return HeadWeights.init(config, generator=generator)
