"""The SmolLM3 family: a Llama some of whose layers turn nothing (NoPE), windows where asked for.

Source: Yang et al. 2025 (RNoPE: Rope to Nope and Back Again).
"""

from attention.errors import ModelError, shown
from attention.families import kin
from attention.families.base import Config, Family
from attention.families.entries import Entries, activations, layer_numbers
from attention.model_config import LayerRule, ModelConfig

ENTRIES = Entries(
    sizes=kin.SIZES,
    optional=(*kin.OPTIONAL, "sliding_window", "no_rope_layer_interval"),
    numbers=kin.NUMBERS,
    options={
        "hidden_act": activations("silu"),
        "attention_bias": (False, True),
        "mlp_bias": (False, True),
        "tie_word_embeddings": (True, False),
        "use_sliding_window": (False, True),
    },
    apart=(*kin.ROPE, "no_rope_layers", "layer_types"),
    unused=(*kin.UNUSED, "max_window_layers"),
)
THETA = 2_000_000.0


def read_config(config: Config) -> ModelConfig:
    """A SmolLM3 config.json as ours.

    Raises:
        ConfigError: when a size is missing or is no whole number of at least 1.
        ModelError: when an entry asks for something not supported.
    """
    given = ENTRIES.read(config)
    turned = _turned(given)
    on = given["use_sliding_window"] and "sliding_window" in given
    windows = kin.windows(given, [on and not turns for turns in turned])
    rope = kin.rope_of(given, theta=THETA)
    rules = [
        LayerRule(rope=rope if turns else None, window=window)
        for turns, window in zip(turned, windows, strict=True)
    ]
    bias = given["attention_bias"]
    plain = kin.config_of(given, rules)
    return kin.with_biases(plain, qkv=bias, out=bias, mlp=given["mlp_bias"])


def _turned(given: Config) -> list[bool]:
    """Which layers turn q and k, which the config tells by 1 in `no_rope_layers`."""
    count, every = given["num_hidden_layers"], given.get("no_rope_layer_interval", 4)
    usual = [int((layer + 1) % every != 0) for layer in layer_numbers(count)]
    told = given.get("no_rope_layers", usual)
    enough = isinstance(told, list) and len(told) >= count
    if not enough or any(turns not in (0, 1) for turns in told):
        raise ModelError(
            f"no_rope_layers must be 0 or 1 for each of {count} layers; got {shown(told)}."
        )
    return [turns == 1 for turns in told[:count]]


FAMILY = Family("smollm3", read_config, kin.weights, spare=kin.SPARE, prefix="model.")
