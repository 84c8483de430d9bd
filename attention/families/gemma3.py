"""The Gemma 3 family: norms of q and k, layers with a window turned by another base.

Of the models that read images too, the part that reads text.
"""

from collections.abc import Mapping
from dataclasses import replace

from attention.errors import ModelError, shown
from attention.families import kin
from attention.families.base import Config, Family
from attention.families.entries import Entries, activations, layer_numbers
from attention.families.gemma2 import four_norms
from attention.model_config import LayerRule, ModelConfig
from attention.rotary import Rope

MISSING = {  # the first configs leave out even sizes
    "vocab_size": 262_208,
    "hidden_size": 2304,
    "intermediate_size": 9216,
    "num_hidden_layers": 26,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "max_position_embeddings": 131_072,
    "sliding_window": 4096,
}
ENTRIES = Entries(
    sizes=kin.SIZES,
    optional=(*kin.OPTIONAL, "sliding_window", "sliding_window_pattern"),
    numbers={**kin.NUMBERS, "query_pre_attn_scalar": 256.0},
    options={
        "hidden_activation": activations("gelu_pytorch_tanh"),
        "attention_bias": (False, True),
        "tie_word_embeddings": (True, False),
        "use_bidirectional_attention": (False,),
    },
    apart=(*kin.ROPE, "rope_local_base_freq", "layer_types", "final_logit_softcapping"),
    unused=(*kin.UNUSED, "hidden_act", "_sliding_window_pattern"),
)
BASES = {kin.FULL: ("rope_theta", 1_000_000.0), kin.SLIDING: ("rope_local_base_freq", 10_000.0)}


def read_config(config: Config) -> ModelConfig:
    """A Gemma 3 config.json as ours.

    Raises:
        ConfigError: when a size is missing or is no whole number of at least 1.
        ModelError: when an entry asks for something not supported.
    """
    given = ENTRIES.read({**MISSING, **config})
    every = given.get("sliding_window_pattern", 6)
    usual = [(layer + 1) % every != 0 for layer in layer_numbers(given["num_hidden_layers"])]
    ropes = {kind: _rope(given, kind) for kind in BASES}
    rules = [
        LayerRule(rope=ropes[kin.FULL if window is None else kin.SLIDING], window=window)
        for window in kin.windows(given, usual)
    ]
    return replace(four_norms(given, rules), qk_norm=True)


def _rope(given: Config, kind: str) -> Rope:
    """How the layers of a kind turn q and k: told apart now, before the one base beside the other.

    Raises:
        ModelError: when it is not told in these ways, or asks for what is not supported.
    """
    name, base = BASES[kind]
    parameters = given.get("rope_parameters") or {}
    if not isinstance(parameters, Mapping) or not set(parameters) <= set(BASES):
        raise ModelError(
            f"rope_parameters must hold {' and '.join(BASES)} alone; got {shown(parameters)}."
        )
    own, scaling = parameters.get(kind), given.get("rope_scaling") if kind == kin.FULL else None
    if isinstance(own, Mapping) and isinstance(scaling, Mapping):
        own, scaling = {**own, **scaling}, None
    told = {**given, "rope_parameters": own, "rope_scaling": scaling}
    told["original_max_position_embeddings"] = None  # transformers looks within the kind's own
    return kin.rope_of(told, theta_name=name, theta=base)


FAMILY = Family("gemma3_text", read_config, kin.weights_plus_one, spare=kin.SPARE, prefix="model.")
