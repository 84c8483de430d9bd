import pytest
import torch

from attention.benchmark import BenchmarkSettings
from attention.benchmark.layer import build, prepare
from attention.benchmark.passes import decode
from attention.errors import ConfigError
from attention.kv_cache import KVCache


def settings(**changes):
    values = {"heads": (3,), "d_out": 15, "d_in": 7, "seq_len": 11, "batch": 2}
    return BenchmarkSettings(passes="decode", **(values | changes))


def test_every_step_is_the_first_token_after_the_text():
    """The step advances the cache: without setting it back the second one has no room."""
    layer = prepare(settings(), 3)
    ready = layer.ready(build(layer, "looped"))
    with torch.inference_mode():
        steps = [ready.run() for _ in range(3)]
    for out in steps:
        torch.testing.assert_close(out.double(), layer.exact.out, rtol=0, atol=1e-5)


def test_only_the_new_token_is_computed_while_timed(monkeypatch):
    layer = prepare(settings(), 3)
    module = build(layer, "batched")
    ready = layer.ready(module)
    seen, project = [], module.project
    module.project = lambda x: seen.append(tuple(x.shape)) or project(x)
    with torch.inference_mode():
        ready.run()
    assert seen == [(2, 1, 7)]


def test_long_text_is_read_in_parts_into_the_cache(monkeypatch):
    monkeypatch.setattr(decode, "READ_AT_ONCE", 4)
    made, begin = [], KVCache.__init__
    monkeypatch.setattr(
        KVCache, "__init__", lambda self, *a, **k: made.append(self) or begin(self, *a, **k)
    )
    layer = prepare(settings(), 3)
    module = build(layer, "batched")
    seen, project = [], module.project
    module.project = lambda x: seen.append(x.shape[1]) or project(x)
    layer.ready(module)
    assert seen == [4, 4, 3]
    [cache] = made
    assert cache.read == 11
    assert cache.room == 12


def test_what_has_no_cache_is_refused_with_the_reason():
    layer = prepare(settings(d_in=15), 3)
    with pytest.raises(ConfigError, match="must not be decode for PyTorch MHA: it has no KV cache"):
        build(layer, "torch")


def test_layer_has_room_for_the_new_token():
    assert settings().config(3).context_length == 12
    assert settings(context_length=12).config(3).context_length == 12
    with pytest.raises(ConfigError, match="at least seq_len 11 and the new token; got 11"):
        settings(context_length=11)
