import pytest
import torch

from attention.config import AttentionConfig
from attention.errors import ConfigError, TextError
from attention.implementations import build_attention
from attention.kv_cache import KVCache
from attention.weights import HeadWeights
from tests.implementations.contract import NAMES, WITH_CACHE, build, sequence_for

CONFIG = AttentionConfig.total(7, 45, 9, 13, num_kv_heads=3)


def layer(config=CONFIG):
    weights = HeadWeights.init(config, generator=torch.Generator().manual_seed(3))
    return build_attention("batched", config, weights)


def test_what_is_put_in_comes_out_after_what_was_there():
    cache = KVCache(CONFIG, 2)
    first, second = torch.randn(2, 3, 4, 5), torch.randn(2, 3, 2, 5)
    cache.extend(first, -first)
    cache.advance(4)
    k, v = cache.extend(second, -second)
    torch.testing.assert_close(k, torch.cat([first, second], dim=2), rtol=0, atol=0)
    torch.testing.assert_close(v, -k, rtol=0, atol=0)


def test_a_head_has_a_part_of_the_same_memory():
    cache = KVCache(CONFIG, 2)
    k = torch.randn(2, 3, 4, 5)
    for head in range(3):
        cache.head(head).extend(k[:, head], k[:, head])
    whole, _ = cache.extend(k[:, :, :0], k[:, :, :0])
    assert whole.shape[2] == 0  # not counted before `advance`
    cache.advance(4)
    torch.testing.assert_close(cache.extend(k, k)[0][:, :, :4], k, rtol=0, atol=0)


def test_memory_follows_the_room_not_the_context():
    assert KVCache(CONFIG, 2, room=5).kept.shape == (2, 2, 3, 5, 5)
    assert KVCache(CONFIG).room == 13


@torch.inference_mode()
def test_room_below_the_context_is_refused_when_it_is_full():
    cache = KVCache(CONFIG, room=5)
    layer()(torch.zeros(1, 5, 7), cache=cache)
    with pytest.raises(TextError, match=r"at most 0 after the 5 tokens .* \(room for 5\); got 1"):
        layer()(torch.zeros(1, 1, 7), cache=cache)


@pytest.mark.parametrize(
    ("batch", "options", "message"),
    [
        (0, {}, "batch must be a whole number of at least 1; got 0"),
        (1, {"room": 0}, "room must be a whole number of at least 1; got 0"),
        (1, {"room": 14}, r"room must be at most 13 \(context_length\); got 14"),
    ],
)
def test_size_that_cannot_be_is_refused(batch, options, message):
    with pytest.raises(ConfigError, match=message):
        KVCache(CONFIG, batch, **options)


@torch.inference_mode()
def test_cache_of_another_layer_batch_device_or_dtype_is_refused():
    x = torch.zeros(2, 4, 7)
    with pytest.raises(ConfigError, match=r"cache must be for .* \(2, 3, 5\); got \(1, 3, 5\)"):
        layer()(x, cache=KVCache(CONFIG, 1))
    other = AttentionConfig.total(7, 45, 9, 13)
    with pytest.raises(ConfigError, match=r"cache must be for .* \(2, 3, 5\); got \(2, 9, 5\)"):
        layer()(x, cache=KVCache(other, 2))
    with pytest.raises(ConfigError, match="cache must be on cpu as x; got meta"):
        layer()(x, cache=KVCache(CONFIG, 2, device="meta"))
    with pytest.raises(ConfigError, match=r"cache must be torch\.float32 as x; got torch\.float64"):
        layer()(x, cache=KVCache(CONFIG, 2, dtype=torch.float64))
    with torch.autocast("cpu", torch.bfloat16):
        layer()(x.bfloat16(), cache=KVCache(CONFIG, 2))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in WITH_CACHE])
@torch.inference_mode()
def test_layer_that_cannot_read_on_says_so(name):
    module = build(name)
    with pytest.raises(ConfigError, match=f"cache must be None for {name}"):
        module(sequence_for(module), cache=KVCache(module.config, dtype=torch.float64))


def test_cache_made_in_inference_mode_can_be_used_outside_of_it():
    # Torch refuses to change such a tensor elsewhere.
    with torch.inference_mode():
        cache = KVCache(CONFIG)
    with torch.no_grad():
        layer()(torch.zeros(1, 4, 7), cache=cache)
    assert cache.read == 4


@torch.inference_mode()
def test_a_forward_that_fails_is_not_counted(monkeypatch):
    module, cache = layer(), KVCache(CONFIG)
    monkeypatch.setattr(module, "attend", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        module(torch.zeros(1, 4, 7), cache=cache)
    assert cache.read == 0
