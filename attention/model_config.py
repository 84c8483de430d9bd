"""The sizes and the make of a whole language model."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Literal, get_args

from torch import Tensor
from torch.nn import functional

from attention.config import AttentionConfig
from attention.errors import (
    ConfigError,
    is_number,
    require_choice,
    require_index,
    require_size,
    shown,
)
from attention.rotary import PLAIN_ROPE, Rope

Norm = Literal["rms", "layer"]
Residual = Literal["sequential", "post", "parallel", "shared"]
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "silu": functional.silu,
    "gelu": functional.gelu,
    "gelu_tanh": partial(functional.gelu, approximate="tanh"),
    "quick_gelu": lambda x: x * (1.702 * x).sigmoid(),
    "relu": functional.relu,
    "relu_squared": lambda x: functional.relu(x).square(),
}


@dataclass(frozen=True, kw_only=True)
class LayerRule:
    """What may differ from layer to layer.

    Attributes:
        rope: how q and k are turned; None for not at all.
        window: see `AttentionConfig`.
        fixed_scale: see `AttentionConfig`.
    """

    rope: Rope | None = None
    window: int | None = None
    fixed_scale: float | None = None


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The sizes of a causal transformer, and how its parts are made.

    What is left out is the model of `assets`: Llama's pre-norm blocks with tied embeddings.

    Attributes:
        vocab_size: tokens it knows.
        num_layers: blocks.
        d_mlp: width of the MLP's hidden layer, features; None for blocks that are
            attention and nothing else.
        attention: the sizes of every block's attention layer.
        rope: how q and k are turned in every layer; None for not at all.
        layers: one rule a layer where they differ; they then hold for `rope`, `window` and
            `fixed_scale`. Empty where all layers are alike.
        qk_norm: whether q and k are normed, each head by itself, before they are turned.
        positions: rows of a learned embedding of positions; None for none.
        position_offset: the row of the first position.
        norm: "rms" (RMSNorm) or "layer" (LayerNorm).
        norm_weight: whether a LayerNorm multiplies by a weight; without one it adds no bias either.
        norm_bias: whether a LayerNorm adds a bias.
        norm_eps: added to the mean square, or the variance, under the root.
        post_norms: whether what attention and MLP give is normed too before it is added.
        final_norm: whether the stream is normed before the read-out.
        residual: "sequential", the MLP reads what attention has added; "post", it does, and each
            is normed after it was added rather than before it reads; "parallel", both read the
            same stream, each through its norm; "shared", through one norm.
        activation: a key of ACTIVATIONS.
        gated: whether one linear map gates another in the MLP.
        mlp_bias: whether the MLP's maps add a bias.
        tied: whether the read-out is the embedding again.
        unembed_bias: whether an untied read-out adds a bias.
        embed_scale: a factor on the embeddings.
        embed_dim: width of the embeddings and of what is read out, features, where linear maps
            lead from it to d_model and back; None for d_model itself.
        logit_cap: logits are squeezed to within -logit_cap and logit_cap; None for as they are.
        bos_token_id: the token put first, or None.
    """

    vocab_size: int
    num_layers: int
    d_mlp: int | None
    attention: AttentionConfig
    rope: Rope | None = PLAIN_ROPE
    layers: tuple[LayerRule, ...] = ()
    qk_norm: bool = False
    positions: int | None = None
    position_offset: int = 0
    norm: Norm = "rms"
    norm_weight: bool = True
    norm_bias: bool = True
    norm_eps: float = 1e-5
    post_norms: bool = False
    final_norm: bool = True
    residual: Residual = "sequential"
    activation: str = "silu"
    gated: bool = True
    mlp_bias: bool = False
    tied: bool = True
    unembed_bias: bool = False
    embed_scale: float = 1.0
    embed_dim: int | None = None
    logit_cap: float | None = None
    bos_token_id: int | None = None

    def __post_init__(self) -> None:
        """Check the sizes that AttentionConfig does not."""
        for name in ("vocab_size", "num_layers"):
            require_size(name, getattr(self, name))
        for name in ("d_mlp", "positions", "embed_dim"):
            if getattr(self, name) is not None:
                require_size(name, getattr(self, name))
        for name in ("norm_eps", "embed_scale", "logit_cap"):
            value = getattr(self, name)
            if name == "logit_cap" and value is None:
                continue
            if not is_number(value) or not 0 < value < inf:
                raise ConfigError(f"{name} must be a number above 0; got {shown(value)}.")
        for name, choices in (("norm", get_args(Norm)), ("residual", get_args(Residual))):
            require_choice(name, getattr(self, name), choices)
        require_choice("activation", self.activation, list(ACTIVATIONS))
        if self.bos_token_id is not None:
            require_index("bos_token_id", self.bos_token_id, self.vocab_size)
        self._check_layers()

    def _check_layers(self) -> None:
        if self.layers and len(self.layers) != self.num_layers:
            raise ConfigError(
                f"layers must have one rule for each of {self.num_layers} layers; "
                f"got {len(self.layers)}."
            )
        for rope in {rule.rope for rule in self.layers or (self.layer(0),)}:
            if rope is not None:
                rope.turned(self.attention.head_dim)
        if not self.attention.out_proj or self.attention.d_model != self.attention.d_in:
            raise ConfigError("attention of a model must have out_proj and d_model equal to d_in.")
        rows = 0 if self.positions is None else self.positions - self.position_offset
        if self.positions is not None and rows < self.context_length:
            raise ConfigError(
                f"positions must be at least {self.context_length + self.position_offset} for "
                f"context_length {self.context_length}; got {self.positions}."
            )

    @property
    def d_model(self) -> int:
        """Width of the residual stream, features."""
        return self.attention.d_in

    @property
    def num_heads(self) -> int:
        """Query heads in each layer."""
        return self.attention.num_heads

    @property
    def context_length(self) -> int:
        """The longest text, tokens."""
        return self.attention.context_length

    @property
    def rope_theta(self) -> float:
        """The base of the rotary wavelengths; of a model that turns nothing, Llama's."""
        return (self.rope or PLAIN_ROPE).theta

    def layer(self, index: int) -> LayerRule:
        """What holds in one layer."""
        if self.layers:
            return self.layers[index]
        attention = self.attention
        return LayerRule(rope=self.rope, window=attention.window, fixed_scale=attention.fixed_scale)

    def attention_of(self, index: int) -> AttentionConfig:
        """The sizes of one layer's attention."""
        rule = self.layer(index)
        return replace(self.attention, window=rule.window, fixed_scale=rule.fixed_scale)

    def turns(self, index: int) -> bool:
        """Whether one layer does anything to q and k between projections and scores."""
        return self.qk_norm or self.layer(index).rope is not None
