"""The layers and the input that the tests of the contract share."""

from functools import cache

import torch

from attention.config import AttentionConfig
from attention.implementations import IMPLEMENTATIONS, build_attention
from attention.weights import HeadWeights

TOTAL = AttentionConfig.total(7, 15, 3, 13, out_bias=False)
CONFIGS = {
    "total": TOTAL,
    "per head": AttentionConfig.per_head(7, 5, 3, 13),
    "per head, out_proj": AttentionConfig.per_head(7, 5, 3, 13, out_proj=True),
    "every bias": AttentionConfig.total(7, 15, 3, 13, qkv_bias=True),
    "one head": AttentionConfig.total(7, 5, 1, 13),
    "9 heads on 3 kv heads": AttentionConfig.total(7, 45, 9, 13, num_kv_heads=3, qkv_bias=True),
    "other width out": AttentionConfig(
        d_in=7, num_heads=3, head_dim=5, context_length=13, num_kv_heads=3, d_model=11
    ),
}
NAMES = list(IMPLEMENTATIONS)
WITH_PATTERN = [name for name, entry in IMPLEMENTATIONS.items() if entry.has_pattern]


def build(name, config=TOTAL, *, dtype=torch.float64, seed=20):
    weights = HeadWeights.init(config, generator=torch.Generator().manual_seed(seed))
    # Three times as large as a linear layer begins, so that the patterns are far from uniform.
    return build_attention(name, config, weights.map(lambda t: 3 * t), dtype=dtype)


def sequence(seq_len=11, batch=1, d_in=7, dtype=torch.float64, seed=21):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, seq_len, d_in, generator=generator).to(dtype)


def with_pattern(module, x):
    out, pattern = module(x, need_pattern=True)
    return out, pattern


@cache
def specification(config, seq_len=11, batch=1):
    """What the reference says in float64 (it is slow)."""
    return with_pattern(build("reference", config), sequence(seq_len, batch))
