"""Reading on with a cache is reading the whole: for every implementation that has one."""

from dataclasses import replace

import pytest
import torch

from attention.config import AttentionConfig
from attention.errors import ConfigError, TextError
from attention.implementations.base import Observation
from attention.kv_cache import KVCache
from attention.rotary import Rotary
from tests.implementations.contract import (
    TOTAL,
    WITH_CACHE,
    build,
    sequence,
    skip_beyond_limits,
)

pytestmark = pytest.mark.parametrize("name", WITH_CACHE)
# head_dim 10, an even number, so that rotary positions fit.
LAYERS = {
    "own kv heads": AttentionConfig.total(7, 30, 3, 13, qkv_bias=True),
    "9 heads on 3 kv heads": AttentionConfig.total(7, 90, 9, 13, num_kv_heads=3),
    "one kv head": AttentionConfig.total(7, 30, 3, 13, num_kv_heads=1),
    "window of 4": replace(AttentionConfig.total(7, 30, 3, 13), window=4),
    "soft cap": replace(AttentionConfig.total(7, 30, 3, 13), soft_cap=2.0),
}
CHUNKS = {
    "token by token": [1] * 11,
    "the whole at once": [11],
    "prompt, then tokens": [5, 1, 1, 1, 1, 1, 1],
    "tokens, then a chunk": [1, 1, 7, 2],
    "chunks": [3, 4, 4],
}


def cache_of(config, batch=2, **options):
    return KVCache(config, batch, dtype=torch.float64, **options)


def rotary_of(config):
    return Rotary(config.head_dim, config.context_length).to(torch.float64)


@torch.inference_mode()
def read_on(module, x, chunks, rotary):
    """The outputs of the chunks, one after the other, with one cache."""
    cache = cache_of(module.config, len(x))
    outs = [module(part, rotary=rotary, cache=cache) for part in x.split(chunks, dim=1)]
    assert cache.read == x.shape[1]
    return torch.cat(outs, dim=1)


# Every way to cut a text where kv heads are shared; the other layers with the hardest way.
CASES = [
    *((layer, "tokens, then a chunk") for layer in LAYERS),
    *(("9 heads on 3 kv heads", cut) for cut in CHUNKS if cut != "tokens, then a chunk"),
    ("window of 4", "token by token"),
]


@pytest.mark.parametrize(("layer", "cut"), CASES)
def test_reading_on_is_reading_the_whole(name, layer, cut):
    # PyTorch's is_causal has the first query at the first key: with a cache it saw one key only.
    config = LAYERS[layer]
    skip_beyond_limits(name, config, rotary=True)
    module, x, rotary = build(name, config), sequence(batch=2), rotary_of(config)
    with torch.inference_mode():
        whole = module(x, rotary=rotary)
    torch.testing.assert_close(read_on(module, x, CHUNKS[cut], rotary), whole)


def test_reading_on_without_positions_is_reading_the_whole(name):
    skip_beyond_limits(name, TOTAL)
    module, x = build(name), sequence(batch=2)
    with torch.inference_mode():
        whole = module(x)
    torch.testing.assert_close(read_on(module, x, [4, 1, 6], None), whole)


@torch.inference_mode()
def test_pattern_and_what_is_shown_are_of_the_new_tokens(name):
    skip_beyond_limits(name, TOTAL)
    module, x, cache, seen = build(name), sequence(), cache_of(TOTAL, 1), []
    _, whole = module(x, need_pattern=True)
    module(x[:, :7], cache=cache)
    _, pattern = module(x[:, 7:], need_pattern=True, observe=seen.append, cache=cache)
    if whole is None:
        assert pattern is None
    else:
        torch.testing.assert_close(pattern, whole[:, :, 7:])
    [observation] = seen
    assert isinstance(observation, Observation)
    assert observation.q.shape == observation.k.shape == observation.v.shape == (1, 3, 4, 5)


@torch.inference_mode()
def test_reading_past_the_end_of_the_context_is_refused_and_changes_nothing(name):
    skip_beyond_limits(name, TOTAL)
    module, x, cache = build(name), sequence(seq_len=13), cache_of(TOTAL, 1)
    module(x[:, :9], cache=cache)
    with pytest.raises(
        TextError, match=r"seq_len must be at most 4 after the 9 tokens in the cache .*; got 5"
    ):
        module(x[:, :5], cache=cache)
    torch.testing.assert_close(module(x[:, 9:], cache=cache), module(x)[:, 9:])


def test_gradients_with_a_cache_are_refused_in_one_sentence(name):
    skip_beyond_limits(name, TOTAL)
    with pytest.raises(ConfigError, match="cache must be used without gradients"):
        build(name)(sequence(), cache=cache_of(TOTAL, 1))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@torch.inference_mode()
def test_narrow_dtypes_read_on_too(name, dtype):
    skip_beyond_limits(name, TOTAL)
    module, x = build(name, dtype=dtype), sequence(dtype=dtype)
    cache = KVCache(TOTAL, dtype=dtype)
    found = torch.cat([module(part, cache=cache) for part in x.split([6, 1, 4], dim=1)], dim=1)
    whole = module(x)
    # Each way rounds sums of its own: some steps of the largest value.
    steps = 6 * torch.finfo(dtype).eps * whole.abs().max().item()
    torch.testing.assert_close(found, whole, rtol=0, atol=steps)
