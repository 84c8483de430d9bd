"""A ModuleList of single heads; those that share a kv head hold the same one."""

from torch import Tensor

from attention.config import AttentionConfig
from attention.layouts.base import (
    Layout,
    Parts,
    Reader,
    StateDict,
    known,
    letters,
    one_of_each,
    pack_out,
    shared_by,
    unpack_out,
)
from attention.layouts.separate import PROJECTIONS


def _pack(parts: Parts) -> dict[str, Tensor]:
    packed, shared = pack_out(parts), shared_by(parts)
    for letter, name in PROJECTIONS.items():
        weight, bias = parts[f"W_{letter}"], parts[f"b_{letter}"]
        assert weight is not None  # HeadWeights always has the three projections
        times = 1 if letter == "Q" else shared
        for head in range(len(weight) * times):
            key = f"heads.{head}.{name}"
            packed[f"{key}.weight"] = weight[head // times].T
            packed[f"{key}.bias"] = None if bias is None else bias[head // times]
    return known(packed)


def _unpack(state_dict: StateDict, config: AttentionConfig) -> Parts:
    reader = Reader(state_dict)
    parts = unpack_out(reader, config)
    for letter, count in letters(config):
        name, shared = PROJECTIONS[letter], config.num_heads // count
        heads = [f"heads.{head}.{name}" for head in range(config.num_heads)]
        weights = [reader.take(f"{h}.weight", config.head_dim, config.d_in).T for h in heads]
        parts[f"W_{letter}"] = one_of_each(weights, shared, name)
        if config.qkv_bias:
            biases = [reader.take(f"{h}.bias", config.head_dim) for h in heads]
            parts[f"b_{letter}"] = one_of_each(biases, shared, name)
    reader.finish()
    return parts


LOOPED = Layout("looped", "A ModuleList of single heads: heads.{i}.W_query.weight.", _pack, _unpack)
