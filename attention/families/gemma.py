"""The Gemma family, the first: embeddings are scaled, and norms stored as what they add to 1."""

from dataclasses import replace

from attention.families import kin
from attention.families.base import Config, Family
from attention.families.entries import Entries, activations
from attention.model_config import LayerRule, ModelConfig

MISSING = {"head_dim": 256}
ENTRIES = Entries(
    sizes=kin.SIZES,
    optional=kin.OPTIONAL,
    numbers=kin.NUMBERS,
    options={
        "hidden_act": activations("gelu_pytorch_tanh"),
        "attention_bias": (False, True),
        "tie_word_embeddings": (True, False),
        "use_bidirectional_attention": (False,),
    },
    apart=kin.ROPE,
    unused=(*kin.UNUSED, "hidden_activation"),
)


def read_config(config: Config) -> ModelConfig:
    """A Gemma config.json as ours.

    Raises:
        ConfigError: when a size is missing or is no whole number of at least 1.
        ModelError: when an entry asks for something not supported.
    """
    given = ENTRIES.read({**MISSING, **config})
    if given["hidden_act"] == "gelu":  # its first files say this, and mean the approximation
        given["hidden_act"] = "gelu_pytorch_tanh"
    rule = LayerRule(rope=kin.rope_of(given))
    plain = kin.config_of(given, [rule])
    bias = given["attention_bias"]
    scaled = replace(plain, embed_scale=float(plain.d_model**0.5))
    return kin.with_biases(scaled, qkv=bias, out=bias)


FAMILY = Family("gemma", read_config, kin.weights_plus_one, spare=kin.SPARE, prefix="model.")
