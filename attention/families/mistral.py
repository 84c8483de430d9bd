"""The Mistral family: a Llama whose layers may all have a window."""

from attention.families import kin
from attention.families.base import Config, Family
from attention.families.entries import Entries, activations
from attention.model_config import LayerRule, ModelConfig

MISSING = {"sliding_window": 4096}  # null is another thing: no window
ENTRIES = Entries(
    sizes=kin.SIZES,
    optional=(*kin.OPTIONAL, "sliding_window"),
    numbers=kin.NUMBERS,
    options={
        "hidden_act": activations("silu"),
        "tie_word_embeddings": (False, True),
    },
    apart=kin.ROPE,
    unused=kin.UNUSED,
)


def read_config(config: Config) -> ModelConfig:
    """A Mistral config.json as ours.

    Raises:
        ConfigError: when a size is missing or is no whole number of at least 1.
        ModelError: when an entry asks for something not supported.
    """
    given = ENTRIES.read({**MISSING, **config})
    rope = kin.rope_of(given)
    rule = LayerRule(rope=rope, window=given.get("sliding_window"))
    return kin.config_of(given, [rule])


FAMILY = Family("mistral", read_config, kin.weights, spare=kin.SPARE, prefix="model.")
