"""The Qwen2 family, 2.5 too: a Llama with biases on q, k and v; later layers may have a window."""

from attention.errors import ModelError, shown
from attention.families import kin
from attention.families.base import Config, Family
from attention.families.entries import Entries, activations, layer_numbers
from attention.model_config import LayerRule, ModelConfig

MISSING = {"sliding_window": 4096}
ENTRIES = Entries(
    sizes=kin.SIZES,
    optional=(*kin.OPTIONAL, "sliding_window"),
    numbers=kin.NUMBERS,
    options={
        "hidden_act": activations("silu"),
        "tie_word_embeddings": (False, True),
        "use_sliding_window": (False, True),
    },
    apart=(*kin.ROPE, "max_window_layers", "layer_types"),
    unused=kin.UNUSED,
)


def read_config(config: Config) -> ModelConfig:
    """A Qwen2 config.json as ours.

    Raises:
        ConfigError: when a size is missing or is no whole number of at least 1.
        ModelError: when an entry asks for something not supported.
    """
    given = ENTRIES.read({**MISSING, **config})
    plain = kin.config_of(given, some_with_windows(given))
    return kin.with_biases(plain, qkv=True, out=False)


def some_with_windows(given: Config) -> list[LayerRule]:
    """One rule a layer, as Qwen2 and Qwen3 tell it: later ones may have a window.

    Args:
        given: the entries.

    Raises:
        ConfigError: when there is no window for layers that have one.
        ModelError: when the entries do not say which layers have one.
    """
    on = given["use_sliding_window"] and "sliding_window" in given
    first = given.get("max_window_layers", 28)
    if isinstance(first, bool) or not isinstance(first, int):
        raise ModelError(f"max_window_layers must be a whole number; got {shown(first)}.")
    usual = [on and layer >= first for layer in layer_numbers(given["num_hidden_layers"])]
    windowed = {**given, "sliding_window": given["sliding_window"] if on else 0}
    rope = kin.rope_of(given)
    return [LayerRule(rope=rope, window=window) for window in kin.windows(windowed, usual)]


FAMILY = Family("qwen2", read_config, kin.weights, spare=kin.SPARE, prefix="model.")
