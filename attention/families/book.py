"""The book's GPTModel, as its state dict: GPT-2 under the book's names, with a head of its own.

Source: Raschka 2024, Build a Large Language Model (From Scratch), chapters 3 to 5.
"""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from attention.config import AttentionConfig
from attention.errors import ModelError
from attention.families.base import (
    Config,
    Family,
    Stored,
    are_tensors,
    matrix_shape,
    named,
)
from attention.families.entries import Entries, head_dim_of
from attention.model_config import ModelConfig

NAME = "book-gpt"
ENTRIES = Entries(  # those of GPT_CONFIG_124M
    sizes=("vocab_size", "context_length", "emb_dim", "n_layers"),
    optional=("n_heads",),
    options={"qkv_bias": (False, True)},
    unused=("drop_rate",),
)
HEADS = {768: 12, 1024: 16, 1280: 20, 1600: 25}  # of GPT-2's sizes, by width; others may be any
INSIDE = ("model_state_dict", "state_dict", "model")
NAMES = {  # within a block, but for q, k and v: ours: the book's
    "attn.out_proj": "att.out_proj",
    "mlp.up": "ff.layers.0",
    "mlp.down": "ff.layers.2",
}
QKV = ("W_query", "W_key", "W_value")
BLOCK = "trf_blocks."


def read_config(config: Config) -> ModelConfig:
    """The book's GPT_CONFIG as ours.

    Raises:
        ConfigError: when a size is missing or is no whole number of at least 1.
        ModelError: when the number of heads is not told and cannot be known.
    """
    given = ENTRIES.read(config)
    width = given["emb_dim"]
    heads = given.get("n_heads", HEADS.get(width))
    if heads is None:
        raise ModelError(
            f"n_heads must be told, as a state dict doesn't say it and emb_dim {width} is none of "
            f"GPT-2's; got none. Give num_heads, or put a config.json beside the file: the "
            f'book\'s GPT_CONFIG with "model_type": "{NAME}".'
        )
    return ModelConfig(
        vocab_size=given["vocab_size"],
        num_layers=given["n_layers"],
        d_mlp=4 * width,
        attention=AttentionConfig(
            d_in=width,
            num_heads=heads,
            head_dim=head_dim_of(width, heads, ("emb_dim", "n_heads")),
            context_length=given["context_length"],
            num_kv_heads=heads,
            d_model=width,
            qkv_bias=bool(given["qkv_bias"]),
        ),
        rope=None,
        positions=given["context_length"],
        norm="layer",
        activation="gelu_tanh",
        gated=False,
        mlp_bias=True,
        tied=False,
    )


def recognise(found: Mapping[str, Any]) -> tuple[dict[str, Any], Mapping[str, Tensor]] | None:
    """The config and tensors of a state dict with the book's names; None without.

    It may be bare, or beside the optimizer's under `model_state_dict`.
    """
    for tensors in (found, *(found.get(name) for name in INSIDE)):
        if are_tensors(tensors) and {"tok_emb.weight", "pos_emb.weight"} <= set(tensors):
            return _config_of(tensors), tensors
    return None


def _config_of(tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    """What names and shapes tell: all but the number of heads."""
    vocab_size, width = matrix_shape(tensors, "tok_emb.weight")
    layers = {name.split(".")[1] for name in tensors if name.startswith(BLOCK)}
    return {
        "model_type": NAME,
        "vocab_size": vocab_size,
        "context_length": matrix_shape(tensors, "pos_emb.weight")[0],
        "emb_dim": width,
        "n_layers": len(layers),
        "qkv_bias": f"{BLOCK}0.att.W_query.bias" in tensors,
    }


def weights(config: ModelConfig) -> dict[str, Stored]:
    """Our parameter names to the book's."""
    found = {
        "embed.weight": Stored("tok_emb.weight"),
        "embed_positions.weight": Stored("pos_emb.weight"),
        "unembed.weight": Stored("out_head.weight"),
        **_norm("norm", "final_norm"),
    }
    for i in range(config.num_layers):
        ours, theirs = f"blocks.{i}", f"{BLOCK}{i}"
        found |= _norm(f"{ours}.norm_attn", f"{theirs}.norm1")
        found |= _norm(f"{ours}.norm_mlp", f"{theirs}.norm2")
        for mine, other in NAMES.items():
            found |= named(f"{ours}.{mine}", f"{theirs}.{other}")
        for matrix in QKV:
            there = f"{theirs}.att.{matrix}"
            found |= named(f"{ours}.attn.{matrix}", there, bias=config.attention.qkv_bias)
    return found


def _norm(ours: str, theirs: str) -> dict[str, Stored]:
    return {f"{ours}.weight": Stored(f"{theirs}.scale"), f"{ours}.bias": Stored(f"{theirs}.shift")}


FAMILY = Family(
    NAME,
    read_config,
    weights,
    spare=(r"trf_blocks\.\d+\.att\.mask",),
    recognise=recognise,
)
