"""Models of attention and nothing else, a format of our own: no other library has one.

Its `model_type` is unknown elsewhere, so that other loaders refuse it rather than add an MLP of
random weights.
"""

from collections.abc import Mapping
from typing import Any

from attention.config import AttentionConfig
from attention.errors import ModelError, require_positive
from attention.families.base import Family, Stored, as_they_are
from attention.model_config import ModelConfig
from attention.rotary import Rope

NAME = "headscope-attention-only"
SIZES = ("vocab_size", "num_layers", "num_heads", "head_dim", "d_model", "context_length")
OTHERS = ("model_type", "torch_dtype", "rope_theta", "norm_eps", "bias", "bos_token_id")


def read_config(config: Mapping[str, Any]) -> ModelConfig:
    """Its config.json as our config.

    Raises:
        ConfigError: when a size is missing or is no whole number of at least 1.
        ModelError: when it holds an entry that this format does not have.
    """
    for name in SIZES:
        require_positive(f"{name} in config.json", config.get(name, 0))
    unknown = sorted(set(config) - {*SIZES, *OTHERS})
    if unknown:
        raise ModelError(f"config.json of a {NAME} model must not hold {unknown[0]}; it does.")
    bias = bool(config.get("bias", False))
    return ModelConfig(
        vocab_size=config["vocab_size"],
        num_layers=config["num_layers"],
        d_mlp=None,
        attention=AttentionConfig(
            d_in=config["d_model"],
            num_heads=config["num_heads"],
            head_dim=config["head_dim"],
            context_length=config["context_length"],
            num_kv_heads=config["num_heads"],
            d_model=config["d_model"],
            qkv_bias=bias,
            out_bias=bias,
        ),
        rope=Rope(theta=config.get("rope_theta", 10_000.0)),
        norm_eps=config.get("norm_eps", 1e-5),
        bos_token_id=config.get("bos_token_id"),
    )


def write_config(config: ModelConfig) -> dict[str, Any]:
    """Our config as a config.json.

    Raises:
        ModelError: when the model has an MLP, or shares kv heads.
    """
    attention = config.attention
    if config.d_mlp is not None or attention.num_kv_heads != attention.num_heads:
        raise ModelError(
            f"a {NAME} model must have no MLP and a key head for each query head; got d_mlp "
            f"{config.d_mlp} and {attention.num_kv_heads} of {attention.num_heads} heads."
        )
    return {
        "model_type": NAME,
        "vocab_size": config.vocab_size,
        "num_layers": config.num_layers,
        "num_heads": attention.num_heads,
        "head_dim": attention.head_dim,
        "d_model": config.d_model,
        "context_length": attention.context_length,
        "rope_theta": config.rope_theta,
        "norm_eps": config.norm_eps,
        "bias": attention.qkv_bias,
        "bos_token_id": config.bos_token_id,
    }


def weights(config: ModelConfig) -> dict[str, Stored]:
    """Our parameter names, which the files use too."""
    names = ["embed.weight", "norm.weight"]
    kinds = ("weight", "bias") if config.attention.qkv_bias else ("weight",)
    for layer in range(config.num_layers):
        names.append(f"blocks.{layer}.norm_attn.weight")
        for matrix in ("W_query", "W_key", "W_value", "out_proj"):
            names += [f"blocks.{layer}.attn.{matrix}.{kind}" for kind in kinds]
    return as_they_are({name: name for name in names})


FAMILY = Family(NAME, read_config, weights, write_config=write_config)
