"""What a config.json may say: understood, known to change nothing, or refused by name.

A wrong picture would be worse than none.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from attention.errors import ModelError, is_number, require_size, shown
from attention.families.base import Config

# What `transformers` calls an activation: a key of ACTIVATIONS. The others are refused.
ACTIVATION_NAMES = {
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_accurate": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_python_tanh": "gelu_tanh",
    "quick_gelu": "quick_gelu",
    "relu": "relu",
    "relu2": "relu_squared",
    "silu": "silu",
    "swish": "silu",
}

MOST_LAYERS = 10_000

# Entries that change nothing when a text is read, in every family.
UNUSED = (
    "architectures",
    "chunk_size_feed_forward",
    "dtype",
    "eos_token_id",
    "id2label",
    "initializer_range",
    "label2id",
    "model_type",
    "output_hidden_states",
    "pad_token_id",
    "problem_type",
    "return_dict",
    "torch_dtype",
    "transformers_version",
    "use_cache",
)

# Entries that change numbers in some family: with another value than these, one that does not
# read them could not be what it says it is.
NEUTRAL: dict[str, tuple[Any, ...]] = {
    "add_cross_attention": (False,),
    "alibi": (False,),
    "attention_bias": (False,),
    "attention_multiplier": (1.0,),
    "attn_logit_softcapping": (),
    "clip_qkv": (),
    "embedding_multiplier": (1.0,),
    "final_logit_softcapping": (),
    "is_encoder_decoder": (False,),
    "layer_types": (),
    "logit_scale": (1.0,),
    "logits_scaling": (1.0,),
    "mlp_bias": (False,),
    "multi_query": (False,),
    "no_rope_layers": (),
    "num_experts": (0,),
    "num_local_experts": (0,),
    "parallel_attn": (False,),
    "partial_rotary_factor": (1.0,),
    "per_layer_config": ({},),
    "pruned_heads": ({},),
    "qk_layernorm": (False,),
    "quantization_config": (),
    "query_pre_attn_scalar": (),
    "residual_multiplier": (1.0,),
    "rope_local_base_freq": (),
    "rope_scaling": (),
    "sliding_window": (),
    "use_bidirectional_attention": (False,),
    "use_qk_norm": (False,),
    "use_sliding_window": (False,),
}


@dataclass(frozen=True, kw_only=True)
class Entries:
    """The entries of a family's config.json.

    Null counts as missing. An entry that no family knows changes nothing: `transformers` lets it
    pass too.

    Attributes:
        sizes: whole numbers of at least 1 that it must hold.
        optional: such numbers that may be missing.
        numbers: numbers above 0, and what holds where they are missing.
        options: the values that are understood; what holds where it is missing comes first.
        apart: what the family itself reads.
        unused: what changes nothing when a text is read, such as dropout.
    """

    sizes: tuple[str, ...]
    optional: tuple[str, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)
    options: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    apart: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()

    @property
    def known(self) -> frozenset[str]:
        """Every entry that is understood or known to change nothing."""
        read = (*self.sizes, *self.optional, *self.numbers, *self.options, *self.apart)
        return frozenset((*read, *self.unused, *UNUSED, "bos_token_id"))

    def read(self, config: Config) -> dict[str, Any]:
        """The entries that are there or have a value without being there, checked.

        Raises:
            ConfigError: when a size is missing or is no whole number of at least 1.
            ModelError: when an entry asks for something that is not supported.
        """
        given = {name: value for name, value in config.items() if value is not None}
        for name in (*self.sizes, *(name for name in self.optional if name in given)):
            require_size(f"{name} in config.json", given.get(name, 0))
        for name, default in self.numbers.items():
            given[name] = _above_zero(name, given.get(name, default))
        for name, values in self.options.items():
            given[name] = _option(name, given.get(name, values[0]), values)
        for name, values in NEUTRAL.items():
            if name in given and name not in self.known:
                _option(name, given[name], values)
        return given


def layer_numbers(count: int) -> range:
    """The layers of a model whose layers differ, each by its number.

    Raises:
        ModelError: when there are more than any model has: their rules alone would fill memory.
    """
    if count > MOST_LAYERS:
        raise ModelError(f"layers must be at most {MOST_LAYERS} where they differ; got {count}.")
    return range(count)


def activations(usual: str) -> tuple[str, ...]:
    """The activations that are understood, the one that holds without an entry first."""
    return (usual, *(name for name in ACTIVATION_NAMES if name != usual))


def bos_of(config: Config, vocab_size: int) -> int | None:
    """The token that a text begins with; None where there is none, or none of its vocabulary."""
    bos = config.get("bos_token_id")
    fits = isinstance(bos, int) and not isinstance(bos, bool) and 0 <= bos < vocab_size
    return bos if fits else None


def head_dim_of(width: int, heads: int, names: tuple[str, str]) -> int:
    """The width of a head, where the heads share the width of the stream.

    Raises:
        ModelError: when they cannot; names both entries.
    """
    if width % heads:
        raise ModelError(
            f"{names[0]} in config.json must be a multiple of {names[1]}; got {width} and {heads}."
        )
    return width // heads


def _above_zero(name: str, value: object) -> float:
    if not isinstance(value, int | float) or not is_number(value) or value <= 0:
        raise ModelError(f"{name} in config.json must be a number above 0; got {shown(value)}.")
    return float(value)


def _option(name: str, value: Any, values: tuple[Any, ...]) -> Any:  # noqa: ANN401 - as JSON has it
    if value in values:
        return value
    choices = ", ".join(map(str, values)) or "left out"
    one_of = "one of " if len(values) > 1 else ""
    raise ModelError(f"{name} must be {one_of}{choices} to be shown right; got {shown(value)}.")
