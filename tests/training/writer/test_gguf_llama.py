import pytest
import torch
from gguf import GGUFWriter, TokenType
from transformers import AutoModelForCausalLM

from attention.errors import ModelError
from attention.training.writer.gguf_llama import load_gguf_llama

WORDS = ["<s>", "a", "b", "ab", "1", "2", "Ġ", "Ġa"]
VOCAB, D_MODEL, D_MLP, HEADS, KV_HEADS, HEAD_DIM = len(WORDS), 24, 32, 6, 2, 4


def gguf_file(folder, *, architecture="llama", pre="smollm", leave_out="", extra=()):
    """A small random model as llama.cpp's converter would write it."""
    path = folder / "tiny.gguf"
    writer = GGUFWriter(str(path), architecture)
    writer.add_context_length(32)
    writer.add_embedding_length(D_MODEL)
    writer.add_block_count(2)
    writer.add_feed_forward_length(D_MLP)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(5_000.0)
    writer.add_vocab_size(VOCAB)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(WORDS)
    writer.add_token_types([TokenType.CONTROL] + [TokenType.NORMAL] * (VOCAB - 1))
    writer.add_token_merges(["a b", "Ġ a"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    shapes = {"token_embd.weight": (VOCAB, D_MODEL), "output_norm.weight": (D_MODEL,)}
    for layer in range(2):
        shapes |= {
            f"blk.{layer}.attn_norm.weight": (D_MODEL,),
            f"blk.{layer}.attn_q.weight": (HEADS * HEAD_DIM, D_MODEL),
            f"blk.{layer}.attn_k.weight": (KV_HEADS * HEAD_DIM, D_MODEL),
            f"blk.{layer}.attn_v.weight": (KV_HEADS * HEAD_DIM, D_MODEL),
            f"blk.{layer}.attn_output.weight": (D_MODEL, HEADS * HEAD_DIM),
            f"blk.{layer}.ffn_norm.weight": (D_MODEL,),
            f"blk.{layer}.ffn_gate.weight": (D_MLP, D_MODEL),
            f"blk.{layer}.ffn_up.weight": (D_MLP, D_MODEL),
            f"blk.{layer}.ffn_down.weight": (D_MODEL, D_MLP),
        }
    generator = torch.Generator().manual_seed(0)
    for name, shape in {**shapes, **dict.fromkeys(extra, (VOCAB, D_MODEL))}.items():
        if name != leave_out:
            writer.add_tensor(name, torch.randn(shape, generator=generator).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@torch.inference_mode()
def test_logits_are_those_of_transformers_on_the_same_file(tmp_path):
    path = gguf_file(tmp_path)
    reference = AutoModelForCausalLM.from_pretrained(str(tmp_path), gguf_file=path.name)
    ids = torch.tensor([[1, 5, 3, 2, 7, 4, 6, 0, 1, 2, 3]])
    torch.testing.assert_close(load_gguf_llama(path)(ids), reference(ids).logits)


def test_the_tokenizer_splits_digits_and_knows_special_tokens(tmp_path):
    tokenizer = load_gguf_llama(gguf_file(tmp_path)).tokenizer
    assert tokenizer.encode("<s>ab12 a").ids == (0, 3, 4, 5, 7)
    assert tokenizer.decode([3, 4, 7]) == "ab1 a"


def test_the_dtype_is_the_one_asked_for(tmp_path):
    assert load_gguf_llama(gguf_file(tmp_path), dtype=torch.bfloat16).dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"architecture": "gptneox"}, "general.architecture must be llama; got 'gptneox'"),
        ({"pre": "qwen2"}, "byte-level BPE of kind smollm; got 'qwen2'"),
        ({"leave_out": "blk.1.ffn_up.weight"}, "must hold blk.1.ffn_up.weight; got none"),
        ({"extra": ("output.weight",)}, "must have tied embeddings; got an output.weight"),
    ],
)
def test_what_would_be_read_wrong_is_refused_by_name(tmp_path, changes, message):
    with pytest.raises(ModelError, match=message):
        load_gguf_llama(gguf_file(tmp_path, **changes))


def test_a_size_that_is_missing_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(GGUFWriter, "add_block_count", lambda writer, count: None)
    with pytest.raises(ModelError, match=r"tiny.gguf must say llama.block_count; it does not"):
        load_gguf_llama(gguf_file(tmp_path))


def test_a_file_that_is_no_gguf_is_one_sentence(tmp_path):
    path = tmp_path / "x.gguf"
    path.write_bytes(b"no such thing")
    with pytest.raises(ModelError, match="must be a GGUF file; got"):
        load_gguf_llama(path)
