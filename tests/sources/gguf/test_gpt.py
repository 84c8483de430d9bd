import pytest
import torch
from transformers import AutoModelForCausalLM, GPTNeoXConfig, GPTNeoXForCausalLM

from attention.loading import load_model
from attention.sources import open_checkpoint
from attention.sources.gguf.gpt import by_head
from tests.sources.gguf.files import SIZES, VOCAB, gpt2_tensors, rows, write_gguf

IDS = (7, 1, 2, 3, 1, 2, 3, 30, 36, 0, 11)
FACTS = {**SIZES, "attention.head_count": 3, "attention.layer_norm_epsilon": 2e-5}
NEOX = {  # a llama.cpp name: that of transformers
    "attn_norm": "input_layernorm",
    "attn_qkv": "attention.query_key_value",
    "attn_output": "attention.dense",
    "ffn_norm": "post_attention_layernorm",
    "ffn_up": "mlp.dense_h_to_4h",
    "ffn_down": "mlp.dense_4h_to_h",
}


# ------------------------------------------------------------------ gpt2


@pytest.mark.parametrize("tied", [True, False])
def test_gpt2_tensors_are_those_that_transformers_makes_of_the_file(tied, tmp_path):
    facts = {**FACTS, "feed_forward_length": 96}  # four times the width, whatever the MLP's is
    path = write_gguf(tmp_path / "m.gguf", "gpt2", facts, gpt2_tensors(wide=96, tied=tied))
    theirs = AutoModelForCausalLM.from_pretrained(
        str(tmp_path), gguf_file=path.name, n_positions=61, vocab_size=VOCAB
    )
    ours = open_checkpoint(str(path))
    expected = theirs.state_dict()
    if tied:
        del expected["lm_head.weight"]
    assert set(ours.tensors) == set(expected)
    for name, tensor in expected.items():
        torch.testing.assert_close(ours.tensors[name], tensor, rtol=0, atol=0)
        assert ours.tensors.entries[name].shape == tensor.shape
    with torch.inference_mode():
        torch.testing.assert_close(
            load_model(str(path)).run(IDS).logits, theirs(torch.tensor([IDS])).logits[0]
        )


def test_gpt2_width_of_the_mlp_is_that_of_its_tensor(tmp_path):
    path = write_gguf(tmp_path / "m.gguf", "gpt2", FACTS, gpt2_tensors(wide=35))
    assert open_checkpoint(str(path)).config["n_inner"] == 35
    assert load_model(str(path)).config.d_mlp == 35


# ------------------------------------------------------------------ gptneox


def neox(**others):
    sizes = {
        "vocab_size": VOCAB,
        "hidden_size": 24,
        "intermediate_size": 34,
        "num_hidden_layers": 2,
        "num_attention_heads": 3,
        "max_position_embeddings": 61,
        "rotary_pct": 0.25,
        "layer_norm_eps": 2e-5,
    }
    model = GPTNeoXForCausalLM(GPTNeoXConfig(**{**sizes, **others})).eval()
    for seed, parameter in enumerate(model.parameters()):
        parameter.data = rows(*parameter.shape, seed=seed)
    return model


def neox_file(path, model):
    """A model of transformers as llama.cpp's converter writes it: all q, then all k, all v."""
    config, tensors = model.config, {}
    names = {
        "token_embd": "gpt_neox.embed_in",
        "output_norm": "gpt_neox.final_layer_norm",
        "output": "lm_head",
    }
    for layer in range(2):
        for theirs, ours in NEOX.items():
            names[f"blk.{layer}.{theirs}"] = f"gpt_neox.layers.{layer}.{ours}"
    for theirs, ours in names.items():
        for kind in ("weight", "bias"):
            tensor = model.state_dict().get(f"{ours}.{kind}")
            if tensor is None:
                continue
            if "qkv" in theirs:
                split = tensor.reshape(3, 3, 8, *tensor.shape[1:])  # head, q or k or v, head_dim
                tensor = torch.cat([split[:, i].reshape(24, *tensor.shape[1:]) for i in range(3)])
            tensors[f"{theirs}.{kind}"] = tensor.contiguous()
    facts = {
        **FACTS,
        "rope.dimension_count": int(config.rope_parameters["partial_rotary_factor"] * 8),
        "use_parallel_residual": config.use_parallel_residual,
    }
    return write_gguf(path, "gptneox", facts, tensors)


@pytest.mark.parametrize("parallel", [True, False])
def test_gptneox_file_gives_config_and_tensors_back(parallel, tmp_path):
    theirs = neox(use_parallel_residual=parallel, rotary_pct=0.5)
    ours = open_checkpoint(str(neox_file(tmp_path / "m.gguf", theirs)))
    expected = theirs.state_dict()
    expected["embed_out.weight"] = expected.pop("lm_head.weight")  # as its files call it
    assert set(ours.tensors) == set(expected)
    for name, tensor in expected.items():
        torch.testing.assert_close(ours.tensors[name], tensor, rtol=0, atol=0)
    config = theirs.config.to_dict()
    for name in set(ours.config) & set(config):
        assert ours.config[name] == pytest.approx(config[name]), name
    assert (ours.config["rotary_pct"], ours.config["rotary_emb_base"]) == (0.5, 10_000.0)
    with torch.inference_mode():
        logits = theirs(torch.tensor([IDS])).logits[0]
    torch.testing.assert_close(load_model(str(tmp_path / "m.gguf")).run(IDS).logits, logits)


def test_share_of_turned_features_is_read_as_it_was_meant(tmp_path):
    # 30 of 44 is 0.6818…, and int(0.6818… * 44) is 29.
    width = 3 * 44
    facts = {**FACTS, "embedding_length": width, "rope.dimension_count": 30}
    tensors = {"token_embd.weight": rows(VOCAB, width)}
    config = open_checkpoint(str(write_gguf(tmp_path / "m.gguf", "gptneox", facts, tensors))).config
    assert int(config["rotary_pct"] * 44) == 30


def test_rows_by_head():
    q, k, v = (torch.tensor([[10.0 * part + head] for head in range(2)]) for part in range(3))
    found = by_head(torch.cat([q, k, v]), num_heads=2)
    assert found.flatten().tolist() == [0, 10, 20, 1, 11, 21]
