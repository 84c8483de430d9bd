"""The GPT-NeoX family, Pythia's: some features turned, q, k and v fused head by head."""

from functools import partial

from torch import Tensor

from attention.config import AttentionConfig
from attention.families.base import Config, Family, Stored, named
from attention.families.entries import (
    ACTIVATION_NAMES,
    Entries,
    activations,
    bos_of,
    head_dim_of,
)
from attention.families.rope import APART, longest, read_rope
from attention.model_config import ModelConfig

ENTRIES = Entries(
    sizes=(
        *("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads"),
        *("intermediate_size", "max_position_embeddings"),
    ),
    numbers={"layer_norm_eps": 1e-5},
    options={
        "hidden_act": activations("gelu"),
        "attention_bias": (True, False),
        "use_parallel_residual": (True, False),
        "tie_word_embeddings": (False, True),
    },
    apart=(*APART, "rotary_emb_base", "rotary_pct"),
    unused=("attention_dropout", "hidden_dropout", "classifier_dropout", "is_decoder"),
)
EMBEDDING = "gpt_neox.embed_in.weight"


def read_config(config: Config) -> ModelConfig:
    """A GPT-NeoX config.json as ours.

    Raises:
        ConfigError: when a size is missing or is no whole number of at least 1.
        ModelError: when an entry asks for something not supported.
    """
    given = ENTRIES.read(config)
    width, heads = given["hidden_size"], given["num_attention_heads"]
    head_dim = head_dim_of(width, heads, ("hidden_size", "num_attention_heads"))
    bias = bool(given["attention_bias"])
    rope = read_rope(
        given, head_dim, theta_name="rotary_emb_base", share_name="rotary_pct", share=0.25
    )
    return ModelConfig(
        vocab_size=given["vocab_size"],
        num_layers=given["num_hidden_layers"],
        d_mlp=given["intermediate_size"],
        attention=AttentionConfig(
            d_in=width,
            num_heads=heads,
            head_dim=head_dim,
            context_length=longest(given, rope),
            num_kv_heads=heads,
            d_model=width,
            qkv_bias=bias,
            out_bias=bias,
        ),
        rope=rope,
        norm="layer",
        norm_eps=given["layer_norm_eps"],
        residual="parallel" if given["use_parallel_residual"] else "sequential",
        activation=ACTIVATION_NAMES[given["hidden_act"]],
        gated=False,
        mlp_bias=True,
        tied=bool(given["tie_word_embeddings"]),
        bos_token_id=bos_of(given, given["vocab_size"]),
    )


def weights(config: ModelConfig) -> dict[str, Stored]:
    """Our parameter names to GPT-NeoX's."""
    found = {"embed.weight": Stored(EMBEDDING), **named("norm", "gpt_neox.final_layer_norm")}
    if not config.tied:
        found["unembed.weight"] = Stored("embed_out.weight")
    bias, width = config.attention.qkv_bias, config.d_model
    for i in range(config.num_layers):
        ours, theirs = f"blocks.{i}", f"gpt_neox.layers.{i}"
        found |= named(f"{ours}.norm_attn", f"{theirs}.input_layernorm")
        found |= named(f"{ours}.norm_mlp", f"{theirs}.post_attention_layernorm")
        found |= named(f"{ours}.attn.out_proj", f"{theirs}.attention.dense", bias=bias)
        found |= named(f"{ours}.mlp.up", f"{theirs}.mlp.dense_h_to_4h")
        found |= named(f"{ours}.mlp.down", f"{theirs}.mlp.dense_4h_to_h")
        for kind, shape in {"weight": (3 * width, width), "bias": (3 * width,)}.items():
            if kind == "bias" and not bias:
                continue
            for part, matrix in enumerate(("W_query", "W_key", "W_value")):
                take = partial(of_each_head, part, config.num_heads)
                place = Stored(f"{theirs}.attention.query_key_value.{kind}", take, shape)
                found[f"{ours}.attn.{matrix}.{kind}"] = place
    return found


def of_each_head(part: int, num_heads: int, fused: Tensor) -> Tensor:
    """q's, k's or v's rows (0, 1, 2) of a matrix or bias that has all three head after head."""
    apart: Tensor = fused.unflatten(0, (num_heads, 3, -1))  # head, which, head_dim, ...
    rows: Tensor = apart[:, part].flatten(0, 1)
    return rows


FAMILY = Family(
    "gpt_neox",
    read_config,
    weights,
    spare=(r"(gpt_neox\.)?layers\.\d+\.attention\.(bias|masked_bias|rotary_emb\.inv_freq)",),
    prefix="gpt_neox.",
    also={"embed_out.weight": "lm_head.weight"},
)
