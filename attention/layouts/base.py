"""What the layouts share: the table's entry, a strict reader, and how a matrix holds heads.

Linear weights are (out, in), as `nn.Linear` keeps them; out runs over heads first, then over
one head's features.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attention.config import AttentionConfig
from attention.errors import ConfigError

Parts = dict[str, Tensor | None]  # the fields of HeadWeights by name
StateDict = Mapping[str, Tensor]


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


class Reader:
    """Takes named tensors of known shapes out of a state dict, and names what is wrong."""

    def __init__(self, state_dict: StateDict) -> None:
        self._left = dict(state_dict)

    def take(self, name: str, *shape: int) -> Tensor:
        """The tensor of that name, once.

        Raises:
            ConfigError: when it is missing or of another shape.
        """
        if name not in self._left:
            raise ConfigError(f"state_dict must hold {name} of shape {shape}; it is missing.")
        tensor = self._left.pop(name)
        if tuple(tensor.shape) != shape:
            raise ConfigError(f"{name} must have shape {shape}; got {tuple(tensor.shape)}.")
        return tensor

    def finish(self) -> None:
        """Refuse what nobody took.

        Raises:
            ConfigError: names up to four of them.
        """
        if self._left:
            names = ", ".join(sorted(self._left)[:4])
            raise ConfigError(f"state_dict must hold nothing else; got also {names}.")


def letters(config: AttentionConfig) -> tuple[tuple[str, int], ...]:
    """Q, K and V with the number of heads of each."""
    return ("Q", config.num_heads), ("K", config.num_kv_heads), ("V", config.num_kv_heads)


def known(parts: Mapping[str, Tensor | None]) -> dict[str, Tensor]:
    """Without those that are None."""
    return {name: tensor for name, tensor in parts.items() if tensor is not None}


def shared_by(parts: Parts) -> int:
    """How many query heads share one kv head."""
    w_q, w_k = parts["W_Q"], parts["W_K"]
    assert w_q is not None  # HeadWeights always has the three projections
    assert w_k is not None
    return w_q.shape[0] // w_k.shape[0]


def rows(weight: Float[Tensor, "heads d_in head_dim"]) -> Float[Tensor, "rows d_in"]:
    """(heads, d_in, head_dim) to the (heads * head_dim, d_in) of `nn.Linear`."""
    return weight.transpose(1, 2).flatten(0, 1)


def by_head(
    weight: Float[Tensor, "rows d_in"], heads: int
) -> Float[Tensor, "{heads} d_in head_dim"]:
    """(heads * head_dim, d_in) of `nn.Linear` to (heads, d_in, head_dim)."""
    return weight.reshape(heads, -1, weight.shape[1]).transpose(1, 2)


def pack_out(parts: Parts, name: str = "out_proj", *, columns: bool = False) -> Parts:
    """W_O and its bias as a linear layer of that name.

    Args:
        parts: the head-explicit weights.
        name: of the layer.
        columns: keep the weight as (in, out), as GPT-2 does, rather than (out, in).
    """
    w_o = parts["W_O"]
    weight = None if w_o is None else w_o.flatten(0, 1)
    if weight is not None and not columns:
        weight = weight.transpose(0, 1)
    return {f"{name}.weight": weight, f"{name}.bias": parts["b_O"]}


def unpack_out(
    reader: Reader, config: AttentionConfig, name: str = "out_proj", *, columns: bool = False
) -> Parts:
    """The inverse of `pack_out`.

    Raises:
        ConfigError: when a tensor is missing or misshapen.
    """
    if not config.out_proj:
        return {}
    shape = (config.d_out, config.d_model) if columns else (config.d_model, config.d_out)
    weight = reader.take(f"{name}.weight", *shape)
    bias = reader.take(f"{name}.bias", config.d_model) if config.out_bias else None
    if not columns:
        weight = weight.transpose(0, 1)
    return {"W_O": weight.unflatten(0, (config.num_heads, -1)), "b_O": bias}


def one_of_each(tensors: list[Tensor], shared: int, name: str) -> Tensor:
    """The first tensor of each group of `shared`, stacked, once the group is seen to be equal.

    Raises:
        ConfigError: when heads that share a kv head have different ones.
    """
    for i, tensor in enumerate(tensors):
        if i % shared and not torch.equal(tensor, tensors[i - i % shared]):
            raise ConfigError(
                f"{name} must be equal in the {shared} heads that share a kv head; "
                f"heads {i - i % shared} and {i} differ."
            )
    return torch.stack(tensors[::shared])
