"""nanoGPT's ckpt.pt: GPT-2 with or without biases, its linear maps (out, in), its heads known.

A fork of it that adds a switch of its own to `model_args` is refused, by the switch's name.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from torch import Tensor

from attention.config import AttentionConfig
from attention.errors import ModelError, shown
from attention.families.base import (
    Config,
    Family,
    Stored,
    are_tensors,
    matrix_shape,
    named,
)
from attention.families.entries import ACTIVATION_NAMES, Entries, activations, head_dim_of
from attention.model_config import ModelConfig

NAME = "nanogpt"
COMPILED = "_orig_mod."  # torch.compile puts it before every name
EMBEDDING = "transformer.wte.weight"
ENTRIES = Entries(
    sizes=("vocab_size", "block_size", "n_embd", "n_layer", "n_head"),
    options={
        "bias": (True, False),
        # No entry of nanoGPT's own: until June 2023 it computed gelu_new, and saved nothing of it.
        "activation_function": activations("gelu"),
    },
    unused=("dropout",),
)


def read_config(config: Config) -> ModelConfig:
    """NanoGPT's `model_args` as our config.

    Raises:
        ConfigError: when a size is missing or is no whole number of at least 1.
        ModelError: when it holds an entry that nanoGPT does not have.
    """
    given = ENTRIES.read(config)
    others = sorted(name for name, value in given.items() if value and name not in ENTRIES.known)
    if others:
        raise ModelError(
            f"{others[0]} must be no entry of model_args, as nanoGPT has none such; got "
            f"{shown(given[others[0]])}."
        )
    width, heads, bias = given["n_embd"], given["n_head"], bool(given["bias"])
    return ModelConfig(
        vocab_size=given["vocab_size"],
        num_layers=given["n_layer"],
        d_mlp=4 * width,
        attention=AttentionConfig(
            d_in=width,
            num_heads=heads,
            head_dim=head_dim_of(width, heads, ("n_embd", "n_head")),
            context_length=given["block_size"],
            num_kv_heads=heads,
            d_model=width,
            qkv_bias=bias,
            out_bias=bias,
        ),
        rope=None,
        positions=given["block_size"],
        norm="layer",
        norm_bias=bias,
        activation=ACTIVATION_NAMES[given["activation_function"]],
        gated=False,
        mlp_bias=bias,
    )


def recognise(found: Mapping[str, Any]) -> tuple[dict[str, Any], Mapping[str, Tensor]] | None:
    """The config and tensors of a saved object with `model_args` and `model`; None without."""
    args, model = found.get("model_args"), found.get("model")
    if not isinstance(args, Mapping) or not are_tensors(model):
        return None
    tensors = {name.removeprefix(COMPILED): tensor for name, tensor in model.items()}
    config = {"model_type": NAME, **args}
    if config.get("vocab_size") is None and EMBEDDING in tensors:  # it was left to the data
        config["vocab_size"] = matrix_shape(tensors, EMBEDDING)[0]
    return config, tensors


def weights(config: ModelConfig) -> dict[str, Stored]:
    """Our parameter names to nanoGPT's."""
    bias, width = config.mlp_bias, config.d_model
    found = {
        "embed.weight": Stored(EMBEDDING),
        "embed_positions.weight": Stored("transformer.wpe.weight"),
        **named("norm", "transformer.ln_f", bias=bias),
    }
    for i in range(config.num_layers):
        ours, theirs = f"blocks.{i}", f"transformer.h.{i}"
        for mine, other in {
            "norm_attn": "ln_1",
            "norm_mlp": "ln_2",
            "attn.out_proj": "attn.c_proj",
            "mlp.up": "mlp.c_fc",
            "mlp.down": "mlp.c_proj",
        }.items():
            found |= named(f"{ours}.{mine}", f"{theirs}.{other}", bias=bias)
        for kind, shape in {"weight": (3 * width, width), "bias": (3 * width,)}.items():
            if kind == "bias" and not bias:
                continue
            for part, matrix in enumerate(("W_query", "W_key", "W_value")):
                place = Stored(f"{theirs}.attn.c_attn.{kind}", partial(third, part), shape)
                found[f"{ours}.attn.{matrix}.{kind}"] = place
    return found


def third(part: int, fused: Tensor) -> Tensor:
    """q's, k's or v's rows (0, 1, 2) of a fused matrix (3 * out, in), or of a bias."""
    return fused.chunk(3, dim=0)[part]


FAMILY = Family(
    NAME,
    read_config,
    weights,
    spare=(r"transformer\.h\.\d+\.attn\.bias",),
    recognise=recognise,
)
