"""Small random GGUF files, as llama.cpp's converter lays them out."""

import torch
from gguf import GGUFWriter

SIZES = {"context_length": 61, "block_count": 2, "embedding_length": 24, "feed_forward_length": 34}
VOCAB = 37


def write_gguf(path, architecture, facts, tensors):
    """A file of these facts (without the architecture before them) and tensors."""
    writer = GGUFWriter(str(path), architecture)
    for key, value in facts.items():
        put = {bool: writer.add_bool, int: writer.add_uint32, float: writer.add_float32}
        put.get(type(value), writer.add_string)(f"{architecture}.{key}", value)
    for name, tensor in tensors.items():
        writer.add_tensor(name, tensor.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def rows(*shape, seed=0):
    """Random numbers of that shape in torch's order; a matrix keeps the length of its input."""
    found = torch.randn(shape, generator=torch.Generator().manual_seed(seed + sum(shape)))
    return found / shape[-1] ** 0.5 if len(shape) > 1 else found


def llama_facts(**others):
    return {
        **SIZES,
        "attention.head_count": 6,
        "attention.head_count_kv": 2,
        "attention.layer_norm_rms_epsilon": 2e-5,
        "rope.freq_base": 5_000.0,
        "vocab_size": VOCAB,
        **others,
    }


def llama_tensors(*, head_dim=4, heads=6, kv_heads=2, bias=(), norms=(), tied=True):
    """Those of a llama, qwen2 or qwen3 file."""
    width, wide = SIZES["embedding_length"], SIZES["feed_forward_length"]
    found = {"token_embd.weight": rows(VOCAB, width), "output_norm.weight": rows(width)}
    if not tied:
        found["output.weight"] = rows(VOCAB, width, seed=1)
    for layer in range(SIZES["block_count"]):
        shapes = {
            "attn_norm": (width,),
            "attn_q": (heads * head_dim, width),
            "attn_k": (kv_heads * head_dim, width),
            "attn_v": (kv_heads * head_dim, width),
            "attn_output": (width, heads * head_dim),
            "ffn_norm": (width,),
            "ffn_gate": (wide, width),
            "ffn_up": (wide, width),
            "ffn_down": (width, wide),
            **dict.fromkeys(norms, (head_dim,)),
        }
        for seed, (name, shape) in enumerate(shapes.items()):
            at = f"blk.{layer}.{name}"
            found[f"{at}.weight"] = rows(*shape, seed=100 * layer + seed)
            if name in bias:
                found[f"{at}.bias"] = rows(shape[0], seed=100 * layer + 50 + seed)
    return found


def gpt2_tensors(*, wide=34, tied=True):
    width = SIZES["embedding_length"]
    found = {"token_embd.weight": rows(VOCAB, width), "position_embd.weight": rows(61, width)}
    if not tied:
        found["output.weight"] = rows(VOCAB, width, seed=1)
    shapes = {
        "attn_norm": (width,),
        "attn_qkv": (3 * width, width),
        "attn_output": (width, width),
        "ffn_norm": (width,),
        "ffn_up": (wide, width),
        "ffn_down": (width, wide),
    }
    places = {f"blk.{i}.{name}": s for i in range(2) for name, s in shapes.items()}
    for seed, (name, shape) in enumerate({**places, "output_norm": (width,)}.items()):
        found[f"{name}.weight"] = rows(*shape, seed=seed)
        found[f"{name}.bias"] = rows(shape[0], seed=seed + 500)
    return found
