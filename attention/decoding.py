"""Attention layers that read on: each is bound to a kv cache of its own."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from attention.implementations.base import AttentionModule
from attention.kv_cache import KVCache

# A layer for each block of a model: called as AttentionModule is.
Attention = Sequence[Callable[..., Any]]


def with_caches(layers: Attention, *, batch: int, room: int) -> list[Callable[..., Any]]:
    """The layers of one model, each of whose calls reads the tokens that follow.

    Args:
        layers: of `LanguageModel.attention_layers`, of an implementation that `has_cache`.
        batch: equally long texts that are read at once.
        room: the most tokens of a text.

    Raises:
        ConfigError: when batch or room is below 1, or room above the context's length.
    """
    return [_with_cache(layer, batch, room) for layer in layers]


def _with_cache(layer: Callable[..., Any], batch: int, room: int) -> Callable[..., Any]:
    assert isinstance(layer, AttentionModule)  # `attention_layers` gives no other
    weight = next(layer.parameters())
    cache = KVCache(layer.config, batch, room=room, device=weight.device, dtype=weight.dtype)
    return partial(layer, cache=cache)
