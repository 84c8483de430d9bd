"""Open a GGUF file of the Llama architecture as one of our models."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor

from attention import tokens
from attention.errors import ModelError
from attention.families import llama
from attention.model import LanguageModel

SPECIAL = 3  # a token's type in the file: it stands for no text
SINGLE_DIGITS = "smollm"  # the pre-tokenizer that takes numbers digit by digit
NAMES = {  # ours, within a block, to the file's
    "norm_attn": "attn_norm",
    "attn.W_query": "attn_q",
    "attn.W_key": "attn_k",
    "attn.W_value": "attn_v",
    "attn.out_proj": "attn_output",
    "norm_mlp": "ffn_norm",
    "mlp.gate": "ffn_gate",
    "mlp.up": "ffn_up",
    "mlp.down": "ffn_down",
}


def load_gguf_llama(path: Path, *, dtype: torch.dtype = torch.float32) -> LanguageModel:
    """Read the weights, the sizes and the tokenizer out of one file.

    Leaves out other architectures, rope scaling and untied embeddings: they are refused.

    Args:
        path: the GGUF file; quantised weights are multiplied out.
        dtype: of the model.

    Raises:
        ModelError: the file is no such model, or lacks a weight.
    """
    from gguf import GGUFReader
    from gguf.quants import dequantize

    try:
        reader = GGUFReader(str(path))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} must be a GGUF file; got: {error}.") from error
    facts = {name: field.contents() for name, field in reader.fields.items()}
    try:
        model = LanguageModel(llama.read_config(_config(facts)), _tokenizer(facts), name=path.stem)
    except KeyError as error:
        raise ModelError(f"{path.name} must say {error.args[0]}; it does not.") from error
    found = {tensor.name: tensor for tensor in reader.tensors}
    state = {}
    for ours, theirs in _weight_names(model.config.num_layers).items():
        if theirs not in found:
            raise ModelError(f"{path.name} must hold {theirs}; got none.")
        tensor = found[theirs]
        weight = torch.from_numpy(np.array(dequantize(tensor.data, tensor.tensor_type)))
        if theirs.endswith("attn_q.weight"):
            weight = in_halves(weight, model.config.num_heads)
        elif theirs.endswith("attn_k.weight"):
            weight = in_halves(weight, model.config.attention.num_kv_heads)
        state[ours] = weight
    if "output.weight" in found:
        raise ModelError(f"{path.name} must have tied embeddings; got an output.weight.")
    model.load_state_dict(state)
    return model.to(dtype).eval()


def in_halves(weight: Float[Tensor, "rows d_in"], num_heads: int) -> Float[Tensor, "rows d_in"]:
    """Put each head's rows in our order: the file keeps rotated pairs side by side."""
    rows, d_in = weight.shape
    pairs = weight.reshape(num_heads, rows // num_heads // 2, 2, d_in)
    return pairs.transpose(1, 2).reshape(rows, d_in)


def _weight_names(num_layers: int) -> dict[str, str]:
    names = {"embed.weight": "token_embd.weight", "norm.weight": "output_norm.weight"}
    for layer in range(num_layers):
        for ours, theirs in NAMES.items():
            names[f"blocks.{layer}.{ours}.weight"] = f"blk.{layer}.{theirs}.weight"
    return names


def _config(facts: dict[str, Any]) -> dict[str, Any]:
    """The file's sizes under the names of a Llama config.json."""
    architecture = facts.get("general.architecture")
    if architecture != "llama":
        raise ModelError(f"general.architecture must be llama; got {architecture!r}.")
    return {
        "vocab_size": len(facts["tokenizer.ggml.tokens"]),
        "hidden_size": facts["llama.embedding_length"],
        "intermediate_size": facts["llama.feed_forward_length"],
        "num_hidden_layers": facts["llama.block_count"],
        "num_attention_heads": facts["llama.attention.head_count"],
        "num_key_value_heads": facts["llama.attention.head_count_kv"],
        "max_position_embeddings": facts["llama.context_length"],
        "rms_norm_eps": facts["llama.attention.layer_norm_rms_epsilon"],
        "rope_theta": facts.get("llama.rope.freq_base", 10_000.0),
        "rope_scaling": facts.get("llama.rope.scaling.type"),
        "tie_word_embeddings": True,
    }


def _tokenizer(facts: dict[str, Any]) -> tokens.Tokenizer:
    kind = facts.get("tokenizer.ggml.pre")
    if facts.get("tokenizer.ggml.model") != "gpt2" or kind != SINGLE_DIGITS:
        raise ModelError(f"the tokenizer must be byte-level BPE of kind smollm; got {kind!r}.")
    words = facts["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ")) for merge in facts["tokenizer.ggml.merges"]]
    made = Tokenizer(models.BPE(vocab={word: i for i, word in enumerate(words)}, merges=merges))
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=False),
        ]
    )
    made.decoder = decoders.ByteLevel()
    kinds = facts["tokenizer.ggml.token_type"]
    made.add_special_tokens(
        [
            AddedToken(word, special=True, normalized=False)
            for word, kind in zip(words, kinds, strict=True)
            if kind == SPECIAL
        ]
    )
    return tokens.Tokenizer(made)
