"""The Llama family: RMSNorm, rotary positions, gated MLP; the embedded model's format.

What a Llama config can ask for beyond that (rope scaling, sliding windows, MLP biases,
untied embeddings) is refused by name: a wrong picture would be worse than none.
"""

import math
from collections.abc import Mapping
from typing import Any

from attention.config import AttentionConfig
from attention.errors import ModelError, require_positive
from attention.families.base import Family, Stored, as_they_are
from attention.model_config import ModelConfig
from attention.rotary import Rope

REQUIRED = (
    "vocab_size",
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "max_position_embeddings",
)
SUPPORTED: dict[str, tuple[Any, ...]] = {  # option: values understood, the default first
    "hidden_act": ("silu",),
    "rope_scaling": (None,),
    "sliding_window": (None,),
    "mlp_bias": (False,),
    "tie_word_embeddings": (True,),
    "attention_dropout": (0.0, 0),
    "partial_rotary_factor": (1.0, 1),
    "attention_bias": (False, True),
}


def read_config(config: Mapping[str, Any]) -> ModelConfig:
    """A Llama config.json as ours.

    Raises:
        ConfigError: when a size is missing or is no whole number of at least 1.
        ModelError: when an entry asks for something not supported.
    """
    for name in REQUIRED:
        require_positive(f"{name} in config.json", config.get(name, 0))
    for option, values in SUPPORTED.items():
        if config.get(option, values[0]) not in values:
            raise ModelError(
                f"{option} must be {values[0]} to be shown right; got {config[option]!r}."
            )
    heads = config["num_attention_heads"]
    bias = bool(config.get("attention_bias", False))
    bos = config.get("bos_token_id")
    return ModelConfig(
        vocab_size=config["vocab_size"],
        num_layers=config["num_hidden_layers"],
        d_mlp=config["intermediate_size"],
        attention=AttentionConfig(
            d_in=config["hidden_size"],
            num_heads=heads,
            head_dim=config.get("head_dim") or config["hidden_size"] // heads,
            context_length=config["max_position_embeddings"],
            num_kv_heads=config.get("num_key_value_heads") or heads,
            d_model=config["hidden_size"],
            qkv_bias=bias,
            out_bias=bias,
        ),
        rope=Rope(theta=_rope_theta(config)),
        norm_eps=_above_zero("rms_norm_eps", config.get("rms_norm_eps", 1e-6)),
        bos_token_id=bos if isinstance(bos, int) else None,
    )


def _rope_theta(config: Mapping[str, Any]) -> float:
    """Newer configs keep the base of the wavelengths inside `rope_parameters`."""
    parameters = config.get("rope_parameters") or {}
    if not isinstance(parameters, Mapping):
        raise ModelError(f"rope_parameters must be an object; got {parameters!r}.")
    kind = parameters.get("rope_type", "default")
    if kind != "default":
        raise ModelError(f"rope_type must be default to be shown right; got {kind!r}.")
    theta = parameters.get("rope_theta", config.get("rope_theta", 10_000.0))
    return _above_zero("rope_theta", theta)


def _above_zero(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ModelError(f"{name} in config.json must be a number above 0; got {value!r}.")
    return float(value)


def write_config(config: ModelConfig) -> dict[str, Any]:
    """Our config as a config.json that others can open too.

    Raises:
        ModelError: when the model has no MLP: others would put one of random weights there.
    """
    if config.d_mlp is None:
        raise ModelError(
            "d_mlp of a Llama model must be a number; got None: save it as another family."
        )
    attention = config.attention
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": config.vocab_size,
        "hidden_size": config.d_model,
        "intermediate_size": config.d_mlp,
        "num_hidden_layers": config.num_layers,
        "num_attention_heads": attention.num_heads,
        "num_key_value_heads": attention.num_kv_heads,
        "head_dim": attention.head_dim,
        "max_position_embeddings": attention.context_length,
        "rms_norm_eps": config.norm_eps,
        "rope_theta": config.rope_theta,
        "hidden_act": "silu",
        "attention_bias": attention.qkv_bias,
        "mlp_bias": False,
        "tie_word_embeddings": True,
        "bos_token_id": config.bos_token_id,
        "eos_token_id": config.bos_token_id,
    }


def weights(config: ModelConfig) -> dict[str, Stored]:
    """Our parameter names to Llama's."""
    names = {"embed.weight": "model.embed_tokens.weight", "norm.weight": "model.norm.weight"}
    attn = {"W_query": "q_proj", "W_key": "k_proj", "W_value": "v_proj", "out_proj": "o_proj"}
    kinds = ("weight", "bias") if config.attention.qkv_bias else ("weight",)
    for i in range(config.num_layers):
        ours, theirs = f"blocks.{i}", f"model.layers.{i}"
        names[f"{ours}.norm_attn.weight"] = f"{theirs}.input_layernorm.weight"
        names[f"{ours}.norm_mlp.weight"] = f"{theirs}.post_attention_layernorm.weight"
        for mine, other in attn.items():
            for kind in kinds:
                names[f"{ours}.attn.{mine}.{kind}"] = f"{theirs}.self_attn.{other}.{kind}"
        for part in ("gate", "up", "down"):
            names[f"{ours}.mlp.{part}.weight"] = f"{theirs}.mlp.{part}_proj.weight"
    return as_they_are(names)


FAMILY = Family(
    "llama",
    read_config,
    weights,
    spare=(r".*rotary_emb\.inv_freq",),
    write_config=write_config,
)
