"""What Llama and its kin have in common: RMSNorm, rotary positions, a gated MLP, and their names.

A family's own file says what it reads beyond that; what a config asks for and its family doesn't
read is refused by name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from torch import Tensor

from attention.config import AttentionConfig
from attention.errors import ModelError, require_size, shown
from attention.families.base import Config, Stored, named
from attention.families.entries import ACTIVATION_NAMES, bos_of, head_dim_of
from attention.families.rope import APART, longest, read_rope
from attention.model_config import LayerRule, ModelConfig
from attention.rotary import Rope

SIZES = (
    *("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers"),
    *("num_attention_heads", "max_position_embeddings"),
)
OPTIONAL = ("num_key_value_heads", "head_dim")
ROPE = (*APART, "rope_theta")  # what read_rope reads; all features of a head are turned
NUMBERS: Mapping[str, float] = {"rms_norm_eps": 1e-6}
UNUSED = ("attention_dropout", "pretraining_tp")  # the last splits sums only
SPARE = (r".*rotary_emb\.inv_freq",)

FULL, SLIDING = "full_attention", "sliding_attention"

OUTER = {"embed": "model.embed_tokens", "norm": "model.norm"}
ATTENTION = {"W_query": "q_proj", "W_key": "k_proj", "W_value": "v_proj", "out_proj": "o_proj"}
NORMS = {"norm_attn": "input_layernorm", "norm_mlp": "post_attention_layernorm"}
FOUR_NORMS = {
    "norm_attn": "input_layernorm",
    "norm_attn_out": "post_attention_layernorm",
    "norm_mlp": "pre_feedforward_layernorm",
    "norm_mlp_out": "post_feedforward_layernorm",
}
QK_NORMS = {"norm_q": "self_attn.q_norm", "norm_k": "self_attn.k_norm"}


def config_of(
    given: Config, rules: Sequence[LayerRule], *, activation: str = "hidden_act"
) -> ModelConfig:
    """What all of them read: sizes, layers, activation; no biases.

    Args:
        given: the entries, checked and complete.
        rules: one a layer, or one for all of them.
        activation: which entry names it.
    """
    heads, first = given["num_attention_heads"], rules[0]
    alike = all(rule == first for rule in rules)
    return ModelConfig(
        vocab_size=given["vocab_size"],
        num_layers=given["num_hidden_layers"],
        d_mlp=given["intermediate_size"],
        attention=AttentionConfig(
            d_in=given["hidden_size"],
            num_heads=heads,
            head_dim=head_dim(given),
            context_length=max(longest(given, rule.rope) for rule in rules),
            num_kv_heads=given.get("num_key_value_heads", heads),
            d_model=given["hidden_size"],
            out_bias=False,
            window=first.window if alike else None,
            fixed_scale=first.fixed_scale if alike else None,
        ),
        rope=first.rope if alike else None,
        layers=() if alike else tuple(rules),
        norm_eps=given["rms_norm_eps"],
        activation=ACTIVATION_NAMES[given[activation]],
        tied=bool(given["tie_word_embeddings"]),
        bos_token_id=bos_of(given, given["vocab_size"]),
    )


def with_biases(config: ModelConfig, *, qkv: bool, out: bool, mlp: bool = False) -> ModelConfig:
    """The same where some linear maps add biases."""
    attention = replace(config.attention, qkv_bias=bool(qkv), out_bias=bool(out))
    return replace(config, attention=attention, mlp_bias=bool(mlp))


def rope_of(given: Config, *, theta_name: str = "rope_theta", theta: float = 10_000.0) -> Rope:
    """How q and k are turned: all features of a head, as all of them do.

    Args:
        given: the entries.
        theta_name: the entry of the base of the wavelengths.
        theta: that base where it is not told.

    Raises:
        ModelError: when an entry is no such number, or asks for what is not supported.
    """
    rope = read_rope(given, head_dim(given), theta_name=theta_name, theta=theta)
    if rope.rotary_dim is not None:
        raise ModelError(
            f"partial_rotary_factor must turn all {head_dim(given)} features of a head to be "
            f"shown right; got one for {rope.rotary_dim}."
        )
    return rope


def head_dim(given: Config) -> int:
    """The width of a head, features: told, or what the heads share out.

    Raises:
        ModelError: when they cannot share it.
    """
    told: int | None = given.get("head_dim")
    names = ("hidden_size", "num_attention_heads")
    return head_dim_of(given[names[0]], given[names[1]], names) if told is None else told


def windows(given: Config, usual: Sequence[bool]) -> list[int | None]:
    """The window of each layer, tokens; None for one that sees the whole text.

    Args:
        given: the entries.
        usual: which layers have one where `layer_types` does not tell.

    Raises:
        ConfigError: when there is no such window.
        ModelError: when the types are no such names, one for each layer.
    """
    count = given["num_hidden_layers"]
    told = given.get("layer_types", [SLIDING if has else FULL for has in usual])
    enough = isinstance(told, list) and len(told) == count
    if not enough or any(kind not in (FULL, SLIDING) for kind in told):
        raise ModelError(
            f"layer_types must name {FULL} or {SLIDING} for each of {count} layers; "
            f"got {shown(told)}."
        )
    if SLIDING in told:
        require_size("sliding_window in config.json", given.get("sliding_window", 0))
    return [given["sliding_window"] if kind == SLIDING else None for kind in told]


def weights(config: ModelConfig) -> dict[str, Stored]:
    """Our parameter names to those of Llama and its kin."""
    found = named("embed", OUTER["embed"], bias=False) | named("norm", OUTER["norm"], bias=False)
    if not config.tied:
        found |= named("unembed", "lm_head", bias=False)
    attention = config.attention
    norms = {
        **(FOUR_NORMS if config.post_norms else NORMS),
        **(QK_NORMS if config.qk_norm else {}),
    }
    for i in range(config.num_layers):
        ours, theirs = f"blocks.{i}", f"model.layers.{i}"
        for mine, other in norms.items():
            found |= named(f"{ours}.{mine}", f"{theirs}.{other}", bias=False)
        for mine, other in ATTENTION.items():
            bias = attention.out_bias if mine == "out_proj" else attention.qkv_bias
            found |= named(f"{ours}.attn.{mine}", f"{theirs}.self_attn.{other}", bias=bias)
        for part in ("gate", "up", "down"):
            mlp = f"{theirs}.mlp.{part}_proj"
            found |= named(f"{ours}.mlp.{part}", mlp, bias=config.mlp_bias)
    return found


def weights_plus_one(config: ModelConfig) -> dict[str, Stored]:
    """As `weights`, where norms are stored as what they differ from 1 by, as Gemma does."""
    return {
        ours: Stored(stored.name, plus_one) if "norm" in ours else stored
        for ours, stored in weights(config).items()
    }


def plus_one(tensor: Tensor) -> Tensor:
    """A norm's weight from what it differs from 1 by; in float32, where narrower would round."""
    return tensor.float() + 1
