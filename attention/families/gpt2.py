"""The GPT-2 family: learned positions, LayerNorm, one matrix for q, k and v; distilgpt2 too."""

from functools import partial
from typing import Any

from torch import Tensor

from attention.config import AttentionConfig
from attention.families.base import Config, Family, Stored, named, transposed
from attention.families.entries import (
    ACTIVATION_NAMES,
    Entries,
    activations,
    bos_of,
    head_dim_of,
    layer_numbers,
)
from attention.model_config import LayerRule, ModelConfig

ENTRIES = Entries(
    sizes=("vocab_size", "n_positions", "n_embd", "n_layer", "n_head"),
    optional=("n_inner",),
    numbers={"layer_norm_epsilon": 1e-5},
    options={
        "activation_function": activations("gelu_new"),
        "scale_attn_weights": (True, False),
        "scale_attn_by_inverse_layer_idx": (False, True),
        "tie_word_embeddings": (True, False),
        "add_cross_attention": (False,),
    },
    unused=(
        # In float32 it is the same; in others patterns are in float32 here in any case.
        "reorder_and_upcast_attn",
        *("resid_pdrop", "embd_pdrop", "attn_pdrop", "summary_type", "summary_use_proj"),
        *("summary_activation", "summary_proj_to_labels", "summary_first_dropout"),
    ),
)
OTHER_NAMES = {  # of the sizes, in the terms of other families
    "n_positions": ("n_ctx", "max_position_embeddings"),
    "n_embd": ("hidden_size",),
    "n_layer": ("num_hidden_layers",),
    "n_head": ("num_attention_heads",),
}


def read_config(config: Config) -> ModelConfig:
    """A GPT-2 config.json as ours.

    Raises:
        ConfigError: when a size is missing or is no whole number of at least 1.
        ModelError: when an entry asks for something not supported.
    """
    given = ENTRIES.read(_usual_names(config))
    width, heads = given["n_embd"], given["n_head"]
    head_dim = head_dim_of(width, heads, ("n_embd", "n_head"))
    return ModelConfig(
        vocab_size=given["vocab_size"],
        num_layers=given["n_layer"],
        d_mlp=given.get("n_inner", 4 * width),
        attention=AttentionConfig(
            d_in=width,
            num_heads=heads,
            head_dim=head_dim,
            context_length=given["n_positions"],
            num_kv_heads=heads,
            d_model=width,
            qkv_bias=True,
        ),
        rope=None,
        layers=_layers(given, head_dim),
        positions=given["n_positions"],
        norm="layer",
        norm_eps=given["layer_norm_epsilon"],
        activation=ACTIVATION_NAMES[given["activation_function"]],
        gated=False,
        mlp_bias=True,
        tied=bool(given["tie_word_embeddings"]),
        bos_token_id=bos_of(given, given["vocab_size"]),
    )


def _usual_names(config: Config) -> dict[str, Any]:
    """The config with its sizes under GPT-2's own names."""
    given = dict(config)
    for usual, others in OTHER_NAMES.items():
        for other in others:
            if given.get(usual) is None and given.get(other) is not None:
                given[usual] = given[other]
    return given


def _layers(given: dict[str, Any], head_dim: int) -> tuple[LayerRule, ...]:
    """The factor on q·k of each layer; none where it is the usual one in all."""
    scale = head_dim**-0.5 if given["scale_attn_weights"] else 1.0
    deeper_is_less = given["scale_attn_by_inverse_layer_idx"]
    if given["scale_attn_weights"] and not deeper_is_less:
        return ()
    return tuple(
        LayerRule(fixed_scale=scale / (layer + 1 if deeper_is_less else 1))
        for layer in layer_numbers(given["n_layer"])
    )


def weights(config: ModelConfig) -> dict[str, Stored]:
    """Our parameter names to GPT-2's, whose linear maps are (in, out)."""
    found = {
        "embed.weight": Stored("transformer.wte.weight"),
        "embed_positions.weight": Stored("transformer.wpe.weight"),
        **named("norm", "transformer.ln_f"),
    }
    if not config.tied:
        found["unembed.weight"] = Stored("lm_head.weight")
    width, d_mlp = config.d_model, config.d_mlp or 0
    for i in range(config.num_layers):
        ours, theirs = f"blocks.{i}", f"transformer.h.{i}"
        found |= named(f"{ours}.norm_attn", f"{theirs}.ln_1")
        found |= named(f"{ours}.norm_mlp", f"{theirs}.ln_2")
        found |= _qkv(f"{ours}.attn", f"{theirs}.attn.c_attn", width)
        found |= _linear(f"{ours}.attn.out_proj", f"{theirs}.attn.c_proj", (width, width))
        found |= _linear(f"{ours}.mlp.up", f"{theirs}.mlp.c_fc", (width, d_mlp))
        found |= _linear(f"{ours}.mlp.down", f"{theirs}.mlp.c_proj", (d_mlp, width))
    return found


def _qkv(ours: str, theirs: str, width: int) -> dict[str, Stored]:
    found = {}
    for part, matrix in enumerate(("W_query", "W_key", "W_value")):
        take = partial(third, part)
        found[f"{ours}.{matrix}.weight"] = Stored(f"{theirs}.weight", take, (width, 3 * width))
        found[f"{ours}.{matrix}.bias"] = Stored(f"{theirs}.bias", take, (3 * width,))
    return found


def third(part: int, fused: Tensor) -> Tensor:
    """q's, k's or v's share (0, 1, 2) of a matrix (in, 3 * out), as (out, in), or of a bias."""
    share = fused.chunk(3, dim=-1)[part]
    return share if share.dim() == 1 else transposed(share)


def _linear(ours: str, theirs: str, shape: tuple[int, int]) -> dict[str, Stored]:
    return {
        f"{ours}.weight": Stored(f"{theirs}.weight", transposed, shape),
        f"{ours}.bias": Stored(f"{theirs}.bias"),
    }


FAMILY = Family(
    "gpt2",
    read_config,
    weights,
    spare=(r"(transformer\.)?h\.\d+\.attn\.(bias|masked_bias)",),
    prefix="transformer.",
)
