"""Names and shapes under which the same attention weights are kept elsewhere.

Each layout is a pair of functions, `pack` (head-explicit parts to a state dict) and
`unpack` (back); `LAYOUTS` lists them. Linear weights are (out, in), as `nn.Linear` keeps
them; out runs over heads first, then over one head's features.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from attention.config import AttentionConfig
from attention.errors import ConfigError, require_choice

Parts = dict[str, Tensor | None]  # the fields of HeadWeights by name
StateDict = Mapping[str, Tensor]

PROJECTIONS = {"Q": "W_query", "K": "W_key", "V": "W_value"}


@dataclass(frozen=True)
class Layout:
    """One way to keep attention weights.

    Attributes:
        name: its key in LAYOUTS.
        summary: what it looks like, in one sentence.
        pack: head-explicit parts to a state dict.
        unpack: a state dict and the layer's config to head-explicit parts.
    """

    name: str
    summary: str
    pack: Callable[[Parts], dict[str, Tensor]]
    unpack: Callable[[StateDict, AttentionConfig], Parts]


class _Reader:
    """Takes named tensors of known shapes out of a state dict, and names what is wrong."""

    def __init__(self, state_dict: StateDict) -> None:
        self._left = dict(state_dict)

    def take(self, name: str, *shape: int) -> Tensor:
        if name not in self._left:
            raise ConfigError(f"state_dict must hold {name} of shape {shape}; it is missing.")
        tensor = self._left.pop(name)
        if tuple(tensor.shape) != shape:
            raise ConfigError(f"{name} must have shape {shape}; got {tuple(tensor.shape)}.")
        return tensor

    def finish(self) -> None:
        if self._left:
            names = ", ".join(sorted(self._left)[:4])
            raise ConfigError(f"state_dict must hold nothing else; got also {names}.")


def _flat(weight: Tensor) -> Tensor:
    """(heads, d_in, head_dim) to the (heads * head_dim, d_in) of `nn.Linear`."""
    return weight.transpose(1, 2).flatten(0, 1)


def _by_head(weight: Tensor, heads: int) -> Tensor:
    """(heads * head_dim, d_in) of `nn.Linear` to (heads, d_in, head_dim)."""
    return weight.reshape(heads, -1, weight.shape[1]).transpose(1, 2)


def _known(parts: Mapping[str, Tensor | None]) -> dict[str, Tensor]:
    return {name: tensor for name, tensor in parts.items() if tensor is not None}


def _pack_out(parts: Parts) -> dict[str, Tensor | None]:
    w_o = parts["W_O"]
    weight = None if w_o is None else w_o.flatten(0, 1).transpose(0, 1)
    return {"out_proj.weight": weight, "out_proj.bias": parts["b_O"]}


def _unpack_out(reader: _Reader, config: AttentionConfig) -> Parts:
    if not config.out_proj:
        return {}
    weight = reader.take("out_proj.weight", config.d_model, config.d_out)
    bias = reader.take("out_proj.bias", config.d_model) if config.out_bias else None
    return {"W_O": weight.transpose(0, 1).unflatten(0, (config.num_heads, -1)), "b_O": bias}


def _pack_heads(parts: Parts) -> dict[str, Tensor]:
    return _known(parts)


def _unpack_heads(state_dict: StateDict, config: AttentionConfig) -> Parts:
    reader = _Reader(state_dict)
    heads, kv_heads, dim = config.num_heads, config.num_kv_heads, config.head_dim
    parts: Parts = {}
    for letter, count in (("Q", heads), ("K", kv_heads), ("V", kv_heads)):
        parts[f"W_{letter}"] = reader.take(f"W_{letter}", count, config.d_in, dim)
        if config.qkv_bias:
            parts[f"b_{letter}"] = reader.take(f"b_{letter}", count, dim)
    if config.out_proj:
        parts["W_O"] = reader.take("W_O", heads, dim, config.d_model)
        if config.out_bias:
            parts["b_O"] = reader.take("b_O", config.d_model)
    reader.finish()
    return parts


def _pack_batched(parts: Parts) -> dict[str, Tensor]:
    packed = _pack_out(parts)
    for letter, name in PROJECTIONS.items():
        weight, bias = parts[f"W_{letter}"], parts[f"b_{letter}"]
        packed[f"{name}.weight"] = None if weight is None else _flat(weight)
        packed[f"{name}.bias"] = None if bias is None else bias.flatten()
    return _known(packed)


def _unpack_batched(state_dict: StateDict, config: AttentionConfig) -> Parts:
    reader = _Reader(state_dict)
    parts = _unpack_out(reader, config)
    kv_heads, dim = config.num_kv_heads, config.head_dim
    for letter, count in (("Q", config.num_heads), ("K", kv_heads), ("V", kv_heads)):
        name = PROJECTIONS[letter]
        weight = reader.take(f"{name}.weight", count * dim, config.d_in)
        parts[f"W_{letter}"] = _by_head(weight, count)
        if config.qkv_bias:
            parts[f"b_{letter}"] = reader.take(f"{name}.bias", count * dim).unflatten(
                0, (count, dim)
            )
    reader.finish()
    return parts


def _pack_looped(parts: Parts) -> dict[str, Tensor]:
    packed = _pack_out(parts)
    w_q, w_k = parts["W_Q"], parts["W_K"]
    assert w_q is not None  # HeadWeights always has the three projections
    assert w_k is not None
    shared = w_q.shape[0] // w_k.shape[0]
    for letter, name in PROJECTIONS.items():
        weight, bias = parts[f"W_{letter}"], parts[f"b_{letter}"]
        for head in range(w_q.shape[0]):
            i = head if letter == "Q" else head // shared
            packed[f"heads.{head}.{name}.weight"] = None if weight is None else weight[i].T
            packed[f"heads.{head}.{name}.bias"] = None if bias is None else bias[i]
    return _known(packed)


def _unpack_looped(state_dict: StateDict, config: AttentionConfig) -> Parts:
    reader = _Reader(state_dict)
    parts = _unpack_out(reader, config)
    for letter, name in PROJECTIONS.items():
        shared = 1 if letter == "Q" else config.heads_per_kv
        heads = [f"heads.{head}.{name}" for head in range(config.num_heads)]
        weights = [reader.take(f"{h}.weight", config.head_dim, config.d_in).T for h in heads]
        parts[f"W_{letter}"] = torch.stack(_one_of_each(weights, shared, name))
        if config.qkv_bias:
            biases = [reader.take(f"{h}.bias", config.head_dim) for h in heads]
            parts[f"b_{letter}"] = torch.stack(_one_of_each(biases, shared, name))
    reader.finish()
    return parts


def _one_of_each(tensors: list[Tensor], shared: int, name: str) -> list[Tensor]:
    """The first tensor of each group of `shared`, once the group is seen to be equal."""
    for i, tensor in enumerate(tensors):
        if i % shared and not torch.equal(tensor, tensors[i - i % shared]):
            raise ConfigError(
                f"{name} must be equal in the {shared} heads that share a kv head; "
                f"heads {i - i % shared} and {i} differ."
            )
    return tensors[::shared]


def _pack_fused(parts: Parts) -> dict[str, Tensor]:
    split = _pack_batched(parts)
    packed = {name: t for name, t in split.items() if name.startswith("out_proj")}
    for kind in ("weight", "bias"):
        rows = [split[f"{n}.{kind}"] for n in PROJECTIONS.values() if f"{n}.{kind}" in split]
        if rows:
            packed[f"W_qkv.{kind}"] = torch.cat(rows)
    return packed


def _unpack_fused(state_dict: StateDict, config: AttentionConfig) -> Parts:
    kv_width = config.num_kv_heads * config.head_dim
    widths = [config.d_out, kv_width, kv_width]
    reader = _Reader({k: t for k, t in state_dict.items() if not k.startswith("out_proj")})
    weight = reader.take("W_qkv.weight", sum(widths), config.d_in)
    parts = {"weight": weight}
    if config.qkv_bias:
        parts["bias"] = reader.take("W_qkv.bias", sum(widths))
    reader.finish()
    split = {k: t for k, t in state_dict.items() if k.startswith("out_proj")}
    for kind, tensor in parts.items():
        for name, rows in zip(PROJECTIONS.values(), tensor.split(widths), strict=True):
            split[f"{name}.{kind}"] = rows
    return _unpack_batched(split, config)


LAYOUTS: dict[str, Layout] = {
    layout.name: layout
    for layout in (
        Layout(
            "heads",
            "3-D, one slice a head: W_Q (num_heads, d_in, head_dim).",
            _pack_heads,
            _unpack_heads,
        ),
        Layout(
            "looped",
            "A ModuleList of single heads: heads.{i}.W_query.weight.",
            _pack_looped,
            _unpack_looped,
        ),
        Layout(
            "batched",
            "One matrix each for q, k and v: W_query.weight.",
            _pack_batched,
            _unpack_batched,
        ),
        Layout(
            "fused",
            "One matrix for all three: W_qkv.weight, rows q then k then v.",
            _pack_fused,
            _unpack_fused,
        ),
    )
}


def find_layout(name: str) -> Layout:
    """The layout of that name.

    Raises:
        ConfigError: when there is none; lists the choices.
    """
    require_choice("layout", name, list(LAYOUTS))
    return LAYOUTS[name]
