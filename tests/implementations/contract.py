"""The layers and the input that the tests of the contract share."""

from dataclasses import replace
from functools import cache

import pytest
import torch

from attention.config import AttentionConfig
from attention.implementations import IMPLEMENTATIONS, build_attention
from attention.weights import HeadWeights

TOTAL = AttentionConfig.total(7, 15, 3, 13, out_bias=False)
SQUARE = AttentionConfig.total(15, 15, 3, 13, out_bias=False)
CONFIGS = {
    "total": TOTAL,
    "as wide as x": SQUARE,
    "as wide as x, every bias": AttentionConfig.total(15, 15, 3, 13, qkv_bias=True),
    "as wide as x, output bias": AttentionConfig.total(15, 15, 3, 13),
    "per head": AttentionConfig.per_head(7, 5, 3, 13),
    "per head, out_proj": AttentionConfig.per_head(7, 5, 3, 13, out_proj=True),
    "every bias": AttentionConfig.total(7, 15, 3, 13, qkv_bias=True),
    "one head": AttentionConfig.total(7, 5, 1, 13),
    "9 heads on 3 kv heads": AttentionConfig.total(7, 45, 9, 13, num_kv_heads=3, qkv_bias=True),
    "other width out": AttentionConfig(
        d_in=7, num_heads=3, head_dim=5, context_length=13, num_kv_heads=3, d_model=11
    ),
}
CONFIGS |= {
    "window of 4": replace(SQUARE, window=4),
    "window of 4, shared kv heads": replace(CONFIGS["9 heads on 3 kv heads"], window=4),
    # Scores of these layers are up to 10: a cap of 2 squeezes most of them.
    "soft cap, scale": replace(TOTAL, soft_cap=2.0, fixed_scale=0.7),
}
# A layer without anything special: what runs here at all computes it.
PLAIN = AttentionConfig.total(30, 30, 3, 13, qkv_bias=True)
# What the table says of each: those that run on a CPU, and what they can do there.
NAMES = [name for name, entry in IMPLEMENTATIONS.items() if entry.supports(PLAIN)]
FAST = [name for name in NAMES if name != "reference"]
WITH_PATTERN = [name for name in NAMES if IMPLEMENTATIONS[name].has_pattern]
WITH_CACHE = [name for name in NAMES if IMPLEMENTATIONS[name].has_cache]
TRAINED = [name for name in NAMES if "cpu" in IMPLEMENTATIONS[name].trains_on]
COMPILED = [name for name in NAMES if IMPLEMENTATIONS[name].compiles]


def skip_beyond_limits(name, config, *, rotary=False):
    """Leave a layer out that the table says it cannot compute; that it is refused is tested."""
    if not IMPLEMENTATIONS[name].supports(config, rotary=rotary):
        pytest.skip(f"{name} cannot compute such a layer")


def cases(names, configs=tuple(CONFIGS)):
    """Each implementation with each of the layers that it can compute: (name, config)."""
    return [
        pytest.param(name, CONFIGS[title], id=f"{name}, {title}")
        for name in names
        for title in configs
        if IMPLEMENTATIONS[name].supports(CONFIGS[title])
    ]


def full_cases(names):
    """With the layers that have every part, where the sizes make no difference."""
    return cases(names, ("as wide as x, every bias", "every bias", "9 heads on 3 kv heads"))


def plain(name):
    """The plainest layer that an implementation can compute."""
    return TOTAL if IMPLEMENTATIONS[name].supports(TOTAL) else SQUARE


def build(name, config=None, *, dtype=torch.float64, seed=20):
    config = config or plain(name)
    skip_beyond_limits(name, config)
    weights = HeadWeights.init(config, generator=torch.Generator().manual_seed(seed))
    # Three times as large as a linear layer begins, so that the patterns are far from uniform.
    return build_attention(name, config, weights.map(lambda t: 3 * t), dtype=dtype)


def sequence(seq_len=11, batch=1, d_in=7, dtype=torch.float64, seed=21):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, seq_len, d_in, generator=generator).to(dtype)


def sequence_for(module, seq_len=11, batch=1, dtype=torch.float64):
    """A sequence as wide as a layer takes it."""
    return sequence(seq_len, batch, module.config.d_in, dtype)


def with_pattern(module, x):
    out, pattern = module(x, need_pattern=True)
    return out, pattern


@cache
def specification(config, seq_len=11, batch=1):
    """What the reference says in float64 (it is slow)."""
    module = build("reference", config)
    return with_pattern(module, sequence_for(module, seq_len, batch))
