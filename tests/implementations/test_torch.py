from dataclasses import replace

import pytest
import torch
from torch import nn

from attention.config import AttentionConfig
from attention.errors import ConfigError
from attention.implementations import IMPLEMENTATIONS, build_attention
from attention.kv_cache import KVCache
from attention.rotary import Rotary
from attention.weights import HeadWeights

# An even number of heads and every bias: the fast path takes nothing else.
CONFIG = AttentionConfig.total(20, 20, 4, 11, qkv_bias=True)
BIASES = {
    "every bias": CONFIG,
    "output bias": replace(CONFIG, qkv_bias=False),
    "no bias": replace(CONFIG, qkv_bias=False, out_bias=False),
}


def build(config=CONFIG, name="torch", dtype=torch.float32):
    weights = HeadWeights.init(config, generator=torch.Generator().manual_seed(7))
    return build_attention(name, config, weights.map(lambda t: 3 * t), dtype=dtype)


def sequence(dtype=torch.float32):
    return torch.randn(2, 11, 20, generator=torch.Generator().manual_seed(8)).to(dtype)


def operators(module, x):
    with torch.profiler.profile() as profile:
        module(x)
    return {event.key: event.count for event in profile.key_averages()}


def test_it_is_pytorchs_own_module_with_its_own_names():
    module = build()
    assert type(module.attention) is nn.MultiheadAttention
    assert set(module.attention.state_dict()) == {
        "in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias",
    }  # fmt: skip


@pytest.mark.parametrize("biases", BIASES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_equals_the_reference_with_and_without_gradients(biases, dtype):
    # Without gradients another path may be taken: PyTorch's fast path.
    module, x = build(BIASES[biases], dtype=dtype), sequence(dtype)
    expected = build(BIASES[biases], "reference", torch.float64)(x.double(), need_pattern=True)
    with_gradients = module(x, need_pattern=True)
    with torch.inference_mode():
        without = module(x, need_pattern=True)
    steps = 8 * torch.finfo(dtype).eps
    for found in (with_gradients, without):
        for mine, exact in zip(found, expected, strict=True):
            largest = exact.abs().max().item()
            torch.testing.assert_close(mine.double(), exact, rtol=0, atol=steps * max(1, largest))
        assert torch.count_nonzero(found[1].triu(1)) == 0


@pytest.mark.parametrize(
    ("config", "fast"),
    [
        (CONFIG, True),
        (BIASES["output bias"], False),
        (BIASES["no bias"], False),
        (AttentionConfig.total(20, 20, 5, 11, qkv_bias=True), False),  # an odd number of heads
    ],
)
def test_fast_path_is_taken_when_the_docstring_says_so(config, fast):
    name, module, x = "aten::_native_multi_head_attention", build(config), sequence()
    with torch.inference_mode():
        assert (name in operators(module, x)) == fast
    assert name not in operators(module, x)  # gradients are wanted
    with torch.inference_mode():
        assert name not in operators(module.train(), x)


def test_tokens_are_multiplied_together_not_one_by_one():
    # Frozen and without a bias, PyTorch makes one small product a token of them.
    module, x = build(BIASES["no bias"]), sequence()
    with torch.inference_mode():
        assert operators(module, x)["aten::mm"] == 2  # into the layer, and out of it
        assert operators(module.requires_grad_(False), x)["aten::mm"] == 1


@pytest.mark.parametrize(
    ("config", "rule"),
    [
        (replace(CONFIG, num_kv_heads=2), "num_kv_heads must equal num_heads .* got 2 kv heads"),
        (replace(CONFIG, d_in=7), "d_in, d_out and d_model must be equal .* got 7, 20 and 20"),
        (replace(CONFIG, d_model=7), "d_in, d_out and d_model must be equal .* got 20, 20 and 7"),
        (replace(CONFIG, out_proj=False), "out_proj must be on for torch"),
        (replace(CONFIG, out_bias=False), "qkv_bias must come with out_bias for torch"),
    ],
)
def test_layer_that_multihead_attention_has_not_is_refused(config, rule):
    assert IMPLEMENTATIONS["torch"].supports(CONFIG)
    assert not IMPLEMENTATIONS["torch"].supports(config)
    with pytest.raises(ConfigError, match=rule):
        build(config)


def test_rotary_positions_and_a_cache_are_refused():
    assert not IMPLEMENTATIONS["torch"].supports(CONFIG, rotary=True)
    module, x = build(), sequence()
    with pytest.raises(ConfigError, match="rotary positions must be off for torch"):
        module(x, rotary=Rotary(6, 11))
    with pytest.raises(ConfigError, match="cache must be None for torch"):
        module(x, cache=KVCache(CONFIG, 2))


def test_dropout_drops_in_training_only():
    module, x = build(replace(CONFIG, dropout=0.5)), sequence()
    torch.testing.assert_close(module(x), build()(x))
    assert (module.train()(x) - build()(x)).abs().max() > 0.01
