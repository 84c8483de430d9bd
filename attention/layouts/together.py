"""One 2-D matrix for q, k and v together: all heads' q, then all their k, then all their v.

That order is [3, head, head_dim]. GPT-NeoX keeps [head, 3, head_dim], which has the same shape
and, read as one of these, gives plausible maps that are wrong.
"""

from dataclasses import dataclass

import torch
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
    one_of_each,
    pack_out,
    rows,
    shared_by,
    unpack_out,
)


@dataclass(frozen=True)
class Matrix:
    """How q, k and v lie in one matrix.

    Attributes:
        weight: its name.
        bias: the name of its bias.
        out: what the output projection is called.
        columns: both weights are (in, out), as GPT-2's Conv1D keeps them, not (out, in).
        own_kv: each query head has k and v of its own, so shared ones are written out for each.
    """

    weight: str
    bias: str
    out: str = "out_proj"
    columns: bool = False
    own_kv: bool = False

    def pack(self, parts: Parts) -> dict[str, Tensor]:
        """Head-explicit parts to a state dict."""
        packed = pack_out(parts, self.out, columns=self.columns)
        shared = shared_by(parts) if self.own_kv else 1
        weights, biases = [], []
        for letter in "QKV":
            times = 1 if letter == "Q" else shared
            weight, bias = parts[f"W_{letter}"], parts[f"b_{letter}"]
            assert weight is not None  # HeadWeights always has the three projections
            weights.append(rows(_for_each(weight, times)))
            if bias is not None:
                biases.append(_for_each(bias, times).flatten())
        matrix = torch.cat(weights)
        packed[self.weight] = matrix.T if self.columns else matrix
        packed[self.bias] = torch.cat(biases) if biases else None
        return known(packed)

    def unpack(self, state_dict: StateDict, config: AttentionConfig) -> Parts:
        """A state dict to head-explicit parts.

        Raises:
            ConfigError: when a tensor is missing, extra or misshapen, or heads that share a kv
                head have different ones.
        """
        reader = Reader(state_dict)
        parts = unpack_out(reader, config, self.out, columns=self.columns)
        kept = {
            letter: config.num_heads if self.own_kv else count for letter, count in letters(config)
        }
        widths = [heads * config.head_dim for heads in kept.values()]
        shape = (sum(widths), config.d_in)
        weight = reader.take(self.weight, *(shape[::-1] if self.columns else shape))
        matrix = weight.T if self.columns else weight
        bias = reader.take(self.bias, sum(widths)) if config.qkv_bias else None
        reader.finish()
        offset = 0
        for letter, count in letters(config):
            heads, shared = kept[letter], kept[letter] // count
            lines = slice(offset, offset + heads * config.head_dim)
            offset = lines.stop
            own = by_head(matrix[lines], heads)
            parts[f"W_{letter}"] = _shared(own, shared, self.weight)
            if bias is not None:
                own = bias[lines].unflatten(0, (heads, -1))
                parts[f"b_{letter}"] = _shared(own, shared, self.bias)
        return parts

    def layout(self, name: str, summary: str) -> Layout:
        """The table's entry."""
        return Layout(name, summary, self.pack, self.unpack)


def _for_each(tensor: Tensor, times: int) -> Tensor:
    return tensor if times == 1 else tensor.repeat_interleave(times, dim=0)


def _shared(tensor: Tensor, shared: int, name: str) -> Tensor:
    return tensor if shared == 1 else one_of_each(list(tensor), shared, name)


FUSED = Matrix("W_qkv.weight", "W_qkv.bias").layout(
    "fused", "One matrix for all three: W_qkv.weight, rows q then k then v."
)
TORCH = Matrix("in_proj_weight", "in_proj_bias", own_kv=True).layout(
    "torch", "nn.MultiheadAttention's state: in_proj_weight, rows q then k then v; out_proj.weight."
)
GPT2 = Matrix("c_attn.weight", "c_attn.bias", "c_proj", columns=True, own_kv=True).layout(
    "gpt2", "GPT-2's Conv1D: c_attn.weight (d_in, 3 * d_out), columns q then k then v."
)
