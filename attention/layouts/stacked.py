"""One head's modules with all heads' parameters stacked: what `stack_module_state` makes."""

from torch import Tensor

from attention.config import AttentionConfig
from attention.layouts.base import (
    Layout,
    Parts,
    Reader,
    StateDict,
    known,
    letters,
    pack_out,
    unpack_out,
)
from attention.layouts.separate import PROJECTIONS


def _pack(parts: Parts) -> dict[str, Tensor]:
    packed = pack_out(parts)
    for letter, name in PROJECTIONS.items():
        weight = parts[f"W_{letter}"]
        packed[f"heads.{name}.weight"] = None if weight is None else weight.transpose(1, 2)
        packed[f"heads.{name}.bias"] = parts[f"b_{letter}"]
    return known(packed)


def _unpack(state_dict: StateDict, config: AttentionConfig) -> Parts:
    reader = Reader(state_dict)
    parts = unpack_out(reader, config)
    for letter, count in letters(config):
        name = f"heads.{PROJECTIONS[letter]}"
        weight = reader.take(f"{name}.weight", count, config.head_dim, config.d_in)
        parts[f"W_{letter}"] = weight.transpose(1, 2)
        if config.qkv_bias:
            parts[f"b_{letter}"] = reader.take(f"{name}.bias", count, config.head_dim)
    reader.finish()
    return parts


STACKED = Layout(
    "stacked",
    "A single head with all heads stacked: heads.W_query.weight (num_heads, head_dim, d_in).",
    _pack,
    _unpack,
)
