"""The architectures gpt2 and gptneox of GGUF."""

import math
from functools import partial

from jaxtyping import Float
from torch import Tensor

from attention.sources.gguf.architecture import Architecture, Config, Facts

KNOWN = (
    "context_length", "embedding_length", "block_count", "feed_forward_length",
    "attention.head_count", "attention.head_count_kv", "attention.layer_norm_epsilon",
)  # fmt: skip
KNOWN_NEOX = (
    *KNOWN, "rope.dimension_count", "rope.freq_base", "use_parallel_residual", "rope.scaling.type"
)  # fmt: skip


def gpt2_config(facts: Facts) -> Config:
    """The metadata as a GPT-2 config.json.

    The file doesn't say the activation: it is GPT-2's own, the tanh approximation of GELU. It
    always says four times the width for the MLP, so that is taken from the tensor.
    """
    facts.refuse_others(KNOWN)
    return {
        "model_type": "gpt2",
        "vocab_size": facts.shape("token_embd.weight")[0],
        "n_embd": facts.size("embedding_length"),
        "n_layer": facts.size("block_count"),
        "n_head": facts.size("attention.head_count"),
        "n_inner": facts.shape("blk.0.ffn_up.weight")[0],
        "n_positions": facts.shape("position_embd.weight")[0],
        "layer_norm_epsilon": facts.number("attention.layer_norm_epsilon"),
        "activation_function": "gelu_new",
        "tie_word_embeddings": "output.weight" not in facts.tensors,
    }


def _gpt2_change(name: str, config: Config) -> partial[Tensor] | None:
    del config  # the same for every size
    turned = ("c_attn.weight", "c_proj.weight", "c_fc.weight")
    return partial(_turned) if name.endswith(turned) else None


def _turned(weight: Float[Tensor, "out in"]) -> Float[Tensor, "in out"]:
    return weight.T


def gptneox_config(facts: Facts) -> Config:
    """The metadata as a GPT-NeoX config.json.

    The file doesn't say the activation: it is Pythia's, the exact GELU.
    """
    facts.refuse_others(KNOWN_NEOX)
    d_model, heads = facts.size("embedding_length"), facts.size("attention.head_count")
    head_dim = d_model // max(heads, 1)
    turned = facts.size("rope.dimension_count", head_dim)
    return {
        "model_type": "gpt_neox",
        "vocab_size": facts.shape("token_embd.weight")[0],
        "hidden_size": d_model,
        "intermediate_size": facts.size("feed_forward_length"),
        "num_hidden_layers": facts.size("block_count"),
        "num_attention_heads": heads,
        "max_position_embeddings": facts.size("context_length"),
        "layer_norm_eps": facts.number("attention.layer_norm_epsilon"),
        "rotary_pct": _share(turned, head_dim),
        "rotary_emb_base": facts.number("rope.freq_base", 10_000.0),
        "use_parallel_residual": bool(facts.get("use_parallel_residual", True)),
        "hidden_act": "gelu",
        "attention_bias": "blk.0.attn_qkv.bias" in facts.tensors,
        "tie_word_embeddings": "output.weight" not in facts.tensors,
    }


def _share(turned: int, head_dim: int) -> float:
    """The share of which `int(share * head_dim)` is `turned`, as transformers works it out."""
    share = turned / max(head_dim, 1)
    return share if int(share * head_dim) == turned else math.nextafter(share, 2)


def _gptneox_change(name: str, config: Config) -> partial[Tensor] | None:
    if ".query_key_value." in name:
        return partial(by_head, num_heads=config["num_attention_heads"])
    return None


def by_head(rows: Float[Tensor, "*shape"], num_heads: int) -> Float[Tensor, "*shape"]:
    """Each head's q, k and v together, as GPT-NeoX has them; the file has all q, all k, all v."""
    apart = rows.reshape(3, num_heads, rows.shape[0] // num_heads // 3, *rows.shape[1:])
    return apart.transpose(0, 1).reshape(rows.shape)


GPT2 = Architecture(
    gpt2_config,
    {
        "token_embd": "transformer.wte",
        "position_embd": "transformer.wpe",
        "output_norm": "transformer.ln_f",
        "output": "lm_head",
    },
    {
        "attn_norm": "ln_1",
        "attn_qkv": "attn.c_attn",
        "attn_output": "attn.c_proj",
        "ffn_norm": "ln_2",
        "ffn_up": "mlp.c_fc",
        "ffn_down": "mlp.c_proj",
    },
    "transformer.h.{}",
    _gpt2_change,
)
GPTNEOX = Architecture(
    gptneox_config,
    {
        "token_embd": "gpt_neox.embed_in",
        "output_norm": "gpt_neox.final_layer_norm",
        "output": "embed_out",
    },
    {
        "attn_norm": "input_layernorm",
        "attn_qkv": "attention.query_key_value",
        "attn_output": "attention.dense",
        "ffn_norm": "post_attention_layernorm",
        "ffn_up": "mlp.dense_h_to_4h",
        "ffn_down": "mlp.dense_4h_to_h",
    },
    "gpt_neox.layers.{}",
    _gptneox_change,
)
