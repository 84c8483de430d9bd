"""The Llama family, 1 to 3 and SmolLM2; the embedded model's format."""

from dataclasses import fields, replace
from typing import Any

from attention.errors import ModelError
from attention.families import kin
from attention.families.base import Config, Family
from attention.families.entries import ACTIVATION_NAMES, Entries, activations
from attention.model_config import LayerRule, ModelConfig

ENTRIES = Entries(
    sizes=kin.SIZES,
    optional=kin.OPTIONAL,
    numbers=kin.NUMBERS,
    options={
        "hidden_act": activations("silu"),
        "attention_bias": (False, True),
        "mlp_bias": (False, True),
        "tie_word_embeddings": (False, True),
    },
    apart=kin.ROPE,
    unused=kin.UNUSED,
)
NAMES = {ours: theirs for theirs, ours in ACTIVATION_NAMES.items()}  # the last name of each


def read_config(config: Config) -> ModelConfig:
    """A Llama config.json as ours.

    Raises:
        ConfigError: when a size is missing or is no whole number of at least 1.
        ModelError: when an entry asks for something not supported.
    """
    given = ENTRIES.read(config)
    bias = given["attention_bias"]
    rule = LayerRule(rope=kin.rope_of(given))
    plain = kin.config_of(given, [rule])
    return kin.with_biases(plain, qkv=bias, out=bias, mlp=given["mlp_bias"])


def write_config(config: ModelConfig) -> dict[str, Any]:
    """Our config as a config.json that others can open too.

    Raises:
        ModelError: when the model has no MLP: others would put one of random weights there; or
            when it is made in a way that this does not write.
    """
    if config.d_mlp is None:
        raise ModelError(
            "d_mlp of a Llama model must be a number; got None: save it as another family."
        )
    attention = config.attention
    written = {
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
        "hidden_act": NAMES[config.activation],
        "attention_bias": attention.qkv_bias,
        "mlp_bias": config.mlp_bias,
        "tie_word_embeddings": config.tied,
        "bos_token_id": config.bos_token_id,
        "eos_token_id": config.bos_token_id,
    }
    _require_the_same(read_config(written), config)
    return written


def _require_the_same(read: ModelConfig, config: ModelConfig) -> None:
    """Refuse to write a config that would be read as another."""
    attention = replace(config.attention, dropout=0.0)  # of training, no part of the format
    for ours, theirs in ((attention, read.attention), (config, replace(read, attention=attention))):
        for field in fields(ours):
            value, back = getattr(ours, field.name), getattr(theirs, field.name)
            if value != back and field.name != "attention":
                raise ModelError(
                    f"{field.name} of a Llama model must be {back!r} to be written; got {value!r}."
                )


FAMILY = Family(
    "llama", read_config, kin.weights, spare=kin.SPARE, write_config=write_config, prefix="model."
)
