"""The architectures llama, qwen2 and qwen3 of GGUF: Llama and its kin."""

import math
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from attention.errors import ModelError
from attention.sources.gguf.architecture import Architecture, Config, Facts

KNOWN = (
    "context_length", "embedding_length", "block_count", "feed_forward_length",
    "attention.head_count", "attention.head_count_kv", "attention.key_length",
    "attention.layer_norm_rms_epsilon", "rope.dimension_count", "rope.freq_base",
    "rope.scaling.type", "rope.scaling.factor", "rope.scaling.original_context_length",
    "rope.scaling.finetuned", "rope.scale_linear",
)  # fmt: skip
WINDOW = "attention.sliding_window"
FREQUENCIES = "rope_freqs.weight"  # Llama 3's stretched wavelengths, as factors
LLAMA3 = {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
OUTER = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
BLOCK = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def config(facts: Facts) -> Config:
    """The metadata as the config.json of the family of that name."""
    is_llama = facts.architecture == "llama"
    facts.refuse_others((*KNOWN, WINDOW) if is_llama else KNOWN)
    vocab_size, d_model = facts.shape("token_embd.weight")
    heads = facts.size("attention.head_count")
    head_dim = facts.size("attention.key_length", d_model // max(heads, 1))
    found: Config = {
        "model_type": facts.architecture,
        "vocab_size": vocab_size,
        "hidden_size": facts.size("embedding_length"),
        "intermediate_size": facts.size("feed_forward_length"),
        "num_hidden_layers": facts.size("block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": facts.size("attention.head_count_kv", heads),
        "head_dim": head_dim,
        "max_position_embeddings": facts.size("context_length"),
        "rms_norm_eps": facts.number("attention.layer_norm_rms_epsilon"),
        "rope_theta": facts.number("rope.freq_base", 10_000.0),
        "hidden_act": "silu",
        "tie_word_embeddings": "output.weight" not in facts.tensors,
    }
    if facts.architecture != "qwen2":  # which always has them
        found["attention_bias"] = "blk.0.attn_q.bias" in facts.tensors
    if is_llama:
        found["mlp_bias"] = "blk.0.ffn_up.bias" in facts.tensors
    turned = facts.size("rope.dimension_count", head_dim)
    if turned != head_dim:
        found["partial_rotary_factor"] = turned / head_dim
    if window := facts.get(WINDOW):  # Mistral is stored as a Llama
        found |= {"model_type": "mistral", "sliding_window": window}
    scaling = _scaling(facts) or _llama3(facts, turned, found["rope_theta"])
    return found | ({"rope_scaling": scaling} if scaling else {})


def _scaling(facts: Facts) -> Config | None:
    """How the wavelengths are stretched, where the metadata says it."""
    kind = facts.get("rope.scaling.type", "linear" if facts.get("rope.scale_linear") else "none")
    if kind == "none":
        return None
    factor = facts.number("rope.scaling.factor", facts.get("rope.scale_linear", 1.0))
    if kind == "linear":
        return {"rope_type": "linear", "factor": factor} if factor != 1 else None
    if kind != "yarn":
        raise ModelError(
            f"{facts.architecture}.rope.scaling.type in {facts.where} must be none, linear or "
            f"yarn to be shown right; got {kind!r}."
        )
    trained = facts.size("rope.scaling.original_context_length")
    return {"rope_type": "yarn", "factor": factor, "original_max_position_embeddings": trained}


def _llama3(facts: Facts, turned: int, theta: float) -> Config | None:
    """How Llama 3 stretches them: the file keeps only what comes of it, a factor for each pair."""
    if FREQUENCIES not in facts.tensors:
        return None
    kept = facts.tensors[FREQUENCIES].read().double()
    scaling = {"rope_type": "llama3", "factor": float(kept.max()), **LLAMA3}
    expected = _llama3_factors(turned, theta, float(kept.max()))
    if kept.shape != expected.shape or not torch.isclose(kept, expected, rtol=1e-4).all():
        raise ModelError(
            f"{FREQUENCIES} in {facts.where} must hold the factors of Llama 3 "
            "(low 1, high 4, trained on 8192 tokens) to be shown right; it holds others."
        )
    return scaling


def _llama3_factors(turned: int, theta: float, factor: float) -> Float[Tensor, " pair"]:
    rates = theta ** -(torch.arange(0, turned, 2, dtype=torch.float64) / turned)
    turns = LLAMA3["original_max_position_embeddings"] * rates / (2 * math.pi)
    low, high = LLAMA3["low_freq_factor"], LLAMA3["high_freq_factor"]
    smooth = ((turns - low) / (high - low)).clamp(0, 1)
    return 1 / ((1 - smooth) / factor + smooth)


def in_halves(weight: Float[Tensor, "*shape"], num_heads: int) -> Float[Tensor, "*shape"]:
    """Put each head's rows in transformers' order: a llama file keeps rotated pairs side by side.

    Args:
        weight: of q or k, or its bias.
        num_heads: of q; of k: its own.
    """
    pairs = weight.reshape(num_heads, weight.shape[0] // num_heads // 2, 2, *weight.shape[1:])
    return pairs.transpose(1, 2).reshape(weight.shape)


def _change(name: str, config: Config) -> partial[Tensor] | None:
    for part, heads in (("q_proj", "num_attention_heads"), ("k_proj", "num_key_value_heads")):
        if f".{part}." in name:
            return partial(in_halves, num_heads=config[heads])
    return None


LLAMA = Architecture(config, OUTER, BLOCK, "model.layers.{}", _change)
QWEN = Architecture(config, OUTER, BLOCK, "model.layers.{}", lambda name, config: None)
