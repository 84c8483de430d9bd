"""One 3-D tensor for each projection: the head-explicit weights under their own names."""

from torch import Tensor

from attention.config import AttentionConfig
from attention.layouts.base import Layout, Parts, Reader, StateDict, known, letters


def _unpack(state_dict: StateDict, config: AttentionConfig) -> Parts:
    reader = Reader(state_dict)
    parts: Parts = {}
    for letter, count in letters(config):
        parts[f"W_{letter}"] = reader.take(f"W_{letter}", count, config.d_in, config.head_dim)
        if config.qkv_bias:
            parts[f"b_{letter}"] = reader.take(f"b_{letter}", count, config.head_dim)
    if config.out_proj:
        parts["W_O"] = reader.take("W_O", config.num_heads, config.head_dim, config.d_model)
        if config.out_bias:
            parts["b_O"] = reader.take("b_O", config.d_model)
    reader.finish()
    return parts


def _pack(parts: Parts) -> dict[str, Tensor]:
    return known(parts)


HEADS = Layout("heads", "3-D, one slice a head: W_Q (num_heads, d_in, head_dim).", _pack, _unpack)
