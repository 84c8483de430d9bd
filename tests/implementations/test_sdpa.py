import dataclasses

import pytest
import torch

from attention.config import AttentionConfig
from attention.implementations import build_attention
from attention.implementations import sdpa as module_under_test
from attention.kv_cache import KVCache
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


@pytest.mark.parametrize("block", [1, 4, 7, 29, 512])
@pytest.mark.parametrize("window", [None, 1, 2, 5, 29])
@pytest.mark.parametrize("read", [0, 1, 11, 18])
def test_blocks_of_rows_are_the_whole(monkeypatch, block, window, read):
    monkeypatch.setattr(module_under_test, "BLOCK_ROWS", block)
    config = AttentionConfig.total(7, 18, 6, 29, num_kv_heads=3)
    config = dataclasses.replace(config, window=window)
    weights = HeadWeights.init(config, generator=torch.Generator().manual_seed(3))
    x = torch.randn(2, 29, 7, generator=torch.Generator().manual_seed(4))
    with torch.inference_mode():
        expected = build_attention("batched", config, weights)(x)
        module, cache = build_attention("sdpa", config, weights), KVCache(config, 2)
        parts = [x[:, :read], x[:, read:28], x[:, 28:]]  # the last alone
        found = [module(part, cache=cache) for part in parts if part.shape[1]]
        torch.testing.assert_close(torch.cat(found, dim=1), expected)
        torch.testing.assert_close(module(x), expected)


@pytest.mark.parametrize("window", [None, 3, 600])
def test_no_mask_is_as_large_as_the_text_squared(monkeypatch, window):
    sizes = []
    kernel = module_under_test.scaled_dot_product_attention

    def watched(*tensors, attn_mask=None, **options):
        sizes.append(0 if attn_mask is None else attn_mask.numel())
        return kernel(*tensors, attn_mask=attn_mask, **options)

    monkeypatch.setattr(module_under_test, "scaled_dot_product_attention", watched)
    config = dataclasses.replace(AttentionConfig.total(4, 4, 2, 2053), window=window)
    weights = HeadWeights.init(config, generator=torch.Generator().manual_seed(3))
    with torch.inference_mode():
        build_attention("sdpa", config, weights)(torch.zeros(1, 2053, 4))
    assert max(sizes) <= 512 * (512 + (window or 0))
