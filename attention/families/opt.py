"""The OPT family: learned positions that begin at row 2; one of its models normed after adding."""

from attention.config import AttentionConfig
from attention.families.base import Config, Family, Stored, named
from attention.families.entries import (
    ACTIVATION_NAMES,
    Entries,
    activations,
    bos_of,
    head_dim_of,
)
from attention.model_config import ModelConfig

FIRST_ROW = 2  # of the embedding of positions; those before it belong to padding
ENTRIES = Entries(
    sizes=(
        *("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads"),
        *("ffn_dim", "max_position_embeddings"),
    ),
    optional=("word_embed_proj_dim",),
    options={
        "activation_function": activations("relu"),
        "do_layer_norm_before": (True, False),
        "_remove_final_layer_norm": (False, True),
        "enable_bias": (True, False),
        "layer_norm_elementwise_affine": (True, False),
        "tie_word_embeddings": (True, False),
    },
    unused=("dropout", "attention_dropout", "activation_dropout", "layerdrop", "init_std"),
)
LINEAR = {  # within a block
    "attn.W_query": "self_attn.q_proj",
    "attn.W_key": "self_attn.k_proj",
    "attn.W_value": "self_attn.v_proj",
    "attn.out_proj": "self_attn.out_proj",
    "mlp.up": "fc1",
    "mlp.down": "fc2",
}
NORMS = {"norm_attn": "self_attn_layer_norm", "norm_mlp": "final_layer_norm"}


def read_config(config: Config) -> ModelConfig:
    """An OPT config.json as ours.

    Raises:
        ConfigError: when a size is missing or is no whole number of at least 1.
        ModelError: when an entry asks for something not supported.
    """
    given = ENTRIES.read(config)
    width, heads = given["hidden_size"], given["num_attention_heads"]
    before, bias = bool(given["do_layer_norm_before"]), bool(given["enable_bias"])
    embed_dim = given.get("word_embed_proj_dim", width)
    return ModelConfig(
        vocab_size=given["vocab_size"],
        num_layers=given["num_hidden_layers"],
        d_mlp=given["ffn_dim"],
        attention=AttentionConfig(
            d_in=width,
            num_heads=heads,
            head_dim=head_dim_of(width, heads, ("hidden_size", "num_attention_heads")),
            context_length=given["max_position_embeddings"],
            num_kv_heads=heads,
            d_model=width,
            qkv_bias=bias,
            out_bias=bias,
        ),
        rope=None,
        positions=given["max_position_embeddings"] + FIRST_ROW,
        position_offset=FIRST_ROW,
        norm="layer",
        norm_weight=bool(given["layer_norm_elementwise_affine"]),
        final_norm=before and not given["_remove_final_layer_norm"],
        residual="sequential" if before else "post",
        activation=ACTIVATION_NAMES[given["activation_function"]],
        gated=False,
        mlp_bias=bias,
        tied=bool(given["tie_word_embeddings"]),
        embed_dim=None if embed_dim == width else embed_dim,
        bos_token_id=bos_of(given, given["vocab_size"]),
    )


def weights(config: ModelConfig) -> dict[str, Stored]:
    """Our parameter names to OPT's."""
    found = {
        "embed.weight": Stored("model.decoder.embed_tokens.weight"),
        "embed_positions.weight": Stored("model.decoder.embed_positions.weight"),
    }
    if not config.tied:
        found["unembed.weight"] = Stored("lm_head.weight")
    if config.embed_dim is not None:
        for name in ("project_in", "project_out"):
            found |= named(name, f"model.decoder.{name}", bias=False)
    if config.final_norm and config.norm_weight:
        found |= named("norm", "model.decoder.final_layer_norm")
    for i in range(config.num_layers):
        ours, theirs = f"blocks.{i}", f"model.decoder.layers.{i}"
        for mine, other in LINEAR.items():
            found |= named(f"{ours}.{mine}", f"{theirs}.{other}", bias=config.mlp_bias)
        for mine, other in NORMS.items() if config.norm_weight else ():
            found |= named(f"{ours}.{mine}", f"{theirs}.{other}")
    return found


FAMILY = Family(
    "opt",
    read_config,
    weights,
    spare=(r"(model\.)?decoder\.version",),
    prefix="model.",
)
