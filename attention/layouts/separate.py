"""One 2-D matrix each for q, k, v and the output, its rows head after head."""

from torch import Tensor

from attention.config import AttentionConfig
from attention.layouts.base import (
    Layout,
    Parts,
    Reader,
    StateDict,
    by_head,
    known,
    letters,
    pack_out,
    rows,
    unpack_out,
)

PROJECTIONS = {"Q": "W_query", "K": "W_key", "V": "W_value"}


def separate(
    name: str, summary: str, *, qkv: tuple[str, str, str], out: str = "out_proj"
) -> Layout:
    """The layout in which the four linear layers have these names.

    Args:
        name: its key in LAYOUTS.
        summary: what it looks like, in one sentence.
        qkv: what the projections of q, k and v are called.
        out: what the output projection is called.
    """
    names = dict(zip("QKV", qkv, strict=True))

    def pack(parts: Parts) -> dict[str, Tensor]:
        packed = pack_out(parts, out)
        for letter, linear in names.items():
            weight, bias = parts[f"W_{letter}"], parts[f"b_{letter}"]
            packed[f"{linear}.weight"] = None if weight is None else rows(weight)
            packed[f"{linear}.bias"] = None if bias is None else bias.flatten()
        return known(packed)

    def unpack(state_dict: StateDict, config: AttentionConfig) -> Parts:
        reader = Reader(state_dict)
        parts = unpack_out(reader, config, out)
        for letter, count in letters(config):
            linear, width = names[letter], count * config.head_dim
            weight = reader.take(f"{linear}.weight", width, config.d_in)
            parts[f"W_{letter}"] = by_head(weight, count)
            if config.qkv_bias:
                bias = reader.take(f"{linear}.bias", width)
                parts[f"b_{letter}"] = bias.unflatten(0, (count, config.head_dim))
        reader.finish()
        return parts

    return Layout(name, summary, pack, unpack)


BATCHED = separate(
    "batched",
    "One matrix each for q, k and v: W_query.weight.",
    qkv=("W_query", "W_key", "W_value"),
)
LLAMA = separate(
    "llama",
    "One matrix each under Llama's names: q_proj.weight, o_proj.weight.",
    qkv=("q_proj", "k_proj", "v_proj"),
    out="o_proj",
)
EQUINOX = separate(
    "equinox",
    "One matrix each under equinox's names: query_proj.weight, output_proj.weight.",
    qkv=("query_proj", "key_proj", "value_proj"),
    out="output_proj",
)
