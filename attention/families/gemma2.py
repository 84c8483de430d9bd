"""The Gemma 2 family: soft caps, four norms a block, every other layer with a window."""

from collections.abc import Sequence
from dataclasses import replace

from attention.families import kin
from attention.families.base import Config, Family
from attention.families.entries import Entries, activations, layer_numbers
from attention.model_config import LayerRule, ModelConfig

MISSING = {  # null is another thing: no cap
    "head_dim": 256,
    "sliding_window": 4096,
    "attn_logit_softcapping": 50.0,
    "final_logit_softcapping": 30.0,
}
ENTRIES = Entries(
    sizes=kin.SIZES,
    optional=(*kin.OPTIONAL, "sliding_window"),
    numbers={**kin.NUMBERS, "query_pre_attn_scalar": 256.0},
    options={
        "hidden_activation": activations("gelu_pytorch_tanh"),
        "attention_bias": (False, True),
        "tie_word_embeddings": (True, False),
        "use_bidirectional_attention": (False,),
    },
    apart=(*kin.ROPE, "layer_types", "attn_logit_softcapping", "final_logit_softcapping"),
    unused=(*kin.UNUSED, "hidden_act"),
)


def read_config(config: Config) -> ModelConfig:
    """A Gemma 2 config.json as ours.

    Raises:
        ConfigError: when a size is missing or is no whole number of at least 1.
        ModelError: when an entry asks for something not supported.
    """
    given = ENTRIES.read({**MISSING, **config})
    rope = kin.rope_of(given)
    usual = [layer % 2 == 0 for layer in layer_numbers(given["num_hidden_layers"])]
    windows = kin.windows(given, usual)
    plain = four_norms(given, [LayerRule(rope=rope, window=window) for window in windows])
    cap = given.get("attn_logit_softcapping")
    return replace(plain, attention=replace(plain.attention, soft_cap=cap))


def four_norms(given: Config, rules: Sequence[LayerRule]) -> ModelConfig:
    """What Gemma 2 and 3 read alike.

    Args:
        given: the entries, checked and complete.
        rules: one a layer, without the factor on q·k.
    """
    scale = float(given["query_pre_attn_scalar"] ** -0.5)
    scaled = [replace(rule, fixed_scale=scale) for rule in rules]
    plain = kin.config_of(given, scaled, activation="hidden_activation")
    bias = given["attention_bias"]
    return replace(
        kin.with_biases(plain, qkv=bias, out=bias),
        post_norms=True,
        embed_scale=float(plain.d_model**0.5),
        logit_cap=given.get("final_logit_softcapping"),
    )


FAMILY = Family("gemma2", read_config, kin.weights_plus_one, spare=kin.SPARE, prefix="model.")
