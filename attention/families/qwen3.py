"""The Qwen3 family: q and k of each head are normed before they are turned."""

from dataclasses import replace

from attention.families import kin
from attention.families.base import Config, Family
from attention.families.entries import Entries, activations
from attention.families.qwen2 import some_with_windows
from attention.model_config import ModelConfig

MISSING = {"sliding_window": 4096, "head_dim": 128}
ENTRIES = Entries(
    sizes=kin.SIZES,
    optional=(*kin.OPTIONAL, "sliding_window"),
    numbers=kin.NUMBERS,
    options={
        "hidden_act": activations("silu"),
        "attention_bias": (False, True),
        "tie_word_embeddings": (False, True),
        "use_sliding_window": (False, True),
    },
    apart=(*kin.ROPE, "max_window_layers", "layer_types"),
    unused=kin.UNUSED,
)


def read_config(config: Config) -> ModelConfig:
    """A Qwen3 config.json as ours.

    Raises:
        ConfigError: when a size is missing or is no whole number of at least 1.
        ModelError: when an entry asks for something not supported.
    """
    given = ENTRIES.read({**MISSING, **config})
    plain = kin.config_of(given, some_with_windows(given))
    bias = given["attention_bias"]
    return replace(kin.with_biases(plain, qkv=bias, out=bias), qk_norm=True)


FAMILY = Family("qwen3", read_config, kin.weights, spare=kin.SPARE, prefix="model.")
