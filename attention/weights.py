"""The one weight layout that is the truth: every head by its own index."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attention.config import AttentionConfig
from attention.errors import ConfigError, require_index, require_positive
from attention.layouts import Parts, find_layout


@dataclass(frozen=True, kw_only=True)
class HeadWeights:
    """Head-explicit weights of one attention layer; y = x @ W_Q[h] + b_Q[h].

    Every implementation takes its own layout from these and gives it back, which is what
    makes heads easy to count, share, knock out and shard.

    Raises:
        ConfigError: when a tensor does not fit the shapes that W_Q and W_K imply.
    """

    W_Q: Float[Tensor, "num_heads d_in head_dim"]
    W_K: Float[Tensor, "num_kv_heads d_in head_dim"]
    W_V: Float[Tensor, "num_kv_heads d_in head_dim"]
    W_O: Float[Tensor, "num_heads head_dim d_model"] | None = None
    b_Q: Float[Tensor, "num_heads head_dim"] | None = None
    b_K: Float[Tensor, "num_kv_heads head_dim"] | None = None
    b_V: Float[Tensor, "num_kv_heads head_dim"] | None = None
    b_O: Float[Tensor, " d_model"] | None = None

    def __post_init__(self) -> None:
        """Check the shapes against each other."""
        for name, heads in (("W_Q", "num_heads"), ("W_K", "num_kv_heads")):
            got = tuple(getattr(self, name).shape)
            if len(got) != 3:
                raise ConfigError(f"{name} must have 3 axes ({heads}, d_in, head_dim); got {got}.")
        num_heads, d_in, head_dim = self.W_Q.shape
        num_kv_heads = self.W_K.shape[0]
        if not num_kv_heads or num_heads % num_kv_heads:
            raise ConfigError(
                f"num_kv_heads must divide num_heads; got {num_kv_heads} kv heads in W_K for "
                f"{num_heads} heads in W_Q."
            )
        d_model = None if self.W_O is None or not self.W_O.dim() else self.W_O.shape[-1]
        expected: dict[str, tuple[int | None, ...]] = {
            "W_K": (num_kv_heads, d_in, head_dim),
            "W_V": (num_kv_heads, d_in, head_dim),
            "W_O": (num_heads, head_dim, d_model),
            "b_Q": (num_heads, head_dim),
            "b_K": (num_kv_heads, head_dim),
            "b_V": (num_kv_heads, head_dim),
            "b_O": (d_model,),
        }
        biases = [self.b_Q is None, self.b_K is None, self.b_V is None]
        if len(set(biases)) > 1:
            raise ConfigError("b_Q, b_K and b_V must be given together or not at all.")
        if self.b_O is not None and self.W_O is None:
            raise ConfigError("b_O must come with W_O; got b_O alone.")
        for name, shape in expected.items():
            tensor = getattr(self, name)
            if tensor is not None and tuple(tensor.shape) != shape:
                raise ConfigError(f"{name} must have shape {shape}; got {tuple(tensor.shape)}.")

    @property
    def num_heads(self) -> int:
        """Query heads."""
        return self.W_Q.shape[0]

    @classmethod
    def init(cls, config: AttentionConfig, *, generator: torch.Generator) -> "HeadWeights":
        """Draw weights as `nn.Linear` does: uniform within 1/sqrt(fan-in).

        Args:
            config: the layer's sizes.
            generator: the source of randomness; the same seed gives the same weights.
        """

        def draw(*shape: int, fan_in: int) -> Tensor:
            unit: Tensor = torch.rand(*shape, generator=generator)
            return (unit * 2 - 1) * float(fan_in**-0.5)

        heads, kv_heads, dim = config.num_heads, config.num_kv_heads, config.head_dim
        d_in, d_out, d_model = config.d_in, config.d_out, config.d_model
        with_out_bias = config.out_proj and config.out_bias
        return cls(
            W_Q=draw(heads, d_in, dim, fan_in=d_in),
            W_K=draw(kv_heads, d_in, dim, fan_in=d_in),
            W_V=draw(kv_heads, d_in, dim, fan_in=d_in),
            W_O=draw(heads, dim, d_model, fan_in=d_out) if config.out_proj else None,
            b_Q=draw(heads, dim, fan_in=d_in) if config.qkv_bias else None,
            b_K=draw(kv_heads, dim, fan_in=d_in) if config.qkv_bias else None,
            b_V=draw(kv_heads, dim, fan_in=d_in) if config.qkv_bias else None,
            b_O=draw(d_model, fan_in=d_out) if with_out_bias else None,
        )

    def check(self, config: AttentionConfig) -> None:
        """Refuse weights that do not belong to `config`.

        Raises:
            ConfigError: names the first size or part that differs, with both values.
        """
        has_bias, has_out_bias = self.b_Q is not None, self.b_O is not None
        found = {
            "num_heads": (self.num_heads, config.num_heads),
            "num_kv_heads": (self.W_K.shape[0], config.num_kv_heads),
            "d_in": (self.W_Q.shape[1], config.d_in),
            "head_dim": (self.W_Q.shape[2], config.head_dim),
            "out_proj": (self.W_O is not None, config.out_proj),
            "qkv_bias": (has_bias, config.qkv_bias),
            "out_bias": (has_out_bias, config.out_proj and config.out_bias),
        }
        if self.W_O is not None:
            found["d_model"] = (self.W_O.shape[2], config.d_model)
        for name, (mine, wanted) in found.items():
            if mine != wanted:
                raise ConfigError(f"{name} of the weights must be {wanted}; got {mine}.")

    def parts(self) -> Parts:
        """The tensors by name, None where there is none."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def map(self, change: Callable[[Tensor], Tensor]) -> "HeadWeights":
        """The same weights with `change` applied to each tensor."""
        kept = {k: change(t) for k, t in self.parts().items() if t is not None}
        return replace(self, **kept)

    def to(self, device: str | torch.device, dtype: torch.dtype) -> "HeadWeights":
        """The same weights on a device, in a dtype (no copy where nothing changes)."""
        return self.map(lambda tensor: tensor.to(device=device, dtype=dtype))

    def without(self, heads: Iterable[int]) -> "HeadWeights":
        """Knock query heads out: their rows of W_O become zero, so nothing of them arrives.

        Raises:
            ConfigError: when a head does not exist, or there is no W_O (a head's own output is
                then the layer's).
        """
        off = [require_index("head", head, self.num_heads) for head in heads]
        if self.W_O is None:
            raise ConfigError("ablate must name heads of a layer with W_O; this layer has none.")
        keep = torch.ones(self.num_heads, 1, 1, dtype=self.W_O.dtype, device=self.W_O.device)
        keep[off] = 0.0
        return replace(self, W_O=self.W_O * keep)

    def first(self, num_heads: int) -> "HeadWeights":
        """The first `num_heads` query heads with the kv heads they use: a narrower layer.

        Where the cut falls inside a group that shares one kv head, each head gets a copy of
        its own.

        Raises:
            ConfigError: when there are not so many, or it is no whole number of at least 1.
        """
        require_positive("num_heads", num_heads)
        if num_heads > self.num_heads:
            raise ConfigError(f"num_heads must be at most {self.num_heads}; got {num_heads}.")
        shared = self.num_heads // self.W_K.shape[0]
        whole_groups = num_heads % shared == 0
        kv = (
            slice(num_heads // shared)  # a view, not a copy
            if whole_groups
            else [head // shared for head in range(num_heads)]
        )

        def cut(name: str, tensor: Tensor) -> Tensor:
            if name == "b_O":
                return tensor
            return tensor[kv] if name[-1] in "KV" else tensor[:num_heads]

        kept = {name: cut(name, t) for name, t in self.parts().items() if t is not None}
        return replace(self, **kept)

    def to_state_dict(self, layout: str) -> dict[str, Tensor]:
        """These numbers under the names and shapes of a layout (views where possible).

        Args:
            layout: a key of LAYOUTS.

        Raises:
            ConfigError: when the layout is unknown.
        """
        return find_layout(layout).pack(self.parts())

    @classmethod
    def from_state_dict(
        cls, state_dict: Mapping[str, Tensor], layout: str, config: AttentionConfig
    ) -> "HeadWeights":
        """Read the weights back from a layout: the exact inverse of `to_state_dict`.

        Raises:
            ConfigError: when the layout is unknown, or a name is missing, extra or misshapen.
        """
        parts: dict[str, Any] = find_layout(layout).unpack(state_dict, config)
        weights = cls(**parts)
        weights.check(config)
        return weights
