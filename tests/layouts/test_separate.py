import pytest
import torch

from attention.config import AttentionConfig
from attention.implementations import build_attention
from attention.rotary import Rotary
from attention.weights import HeadWeights

NAMES = {
    "batched": ("W_query", "W_key", "W_value", "out_proj"),
    "llama": ("q_proj", "k_proj", "v_proj", "o_proj"),
    "equinox": ("query_proj", "key_proj", "value_proj", "output_proj"),
}


@pytest.mark.parametrize("layout", NAMES)
def test_stacks_the_heads_rows(weights, layout):
    state, (q, k, _, out) = weights.to_state_dict(layout), NAMES[layout]
    assert set(state) == {f"{n}.{kind}" for n in NAMES[layout] for kind in ("weight", "bias")}
    assert state[f"{q}.weight"].shape == (45, 7)
    torch.testing.assert_close(state[f"{q}.weight"][35:40], weights.W_Q[7].T)
    torch.testing.assert_close(state[f"{k}.bias"][5:10], weights.b_K[1])
    torch.testing.assert_close(state[f"{out}.weight"][:, 35:40], weights.W_O[7].T)
    torch.testing.assert_close(state[f"{out}.bias"], weights.b_O)


@pytest.mark.parametrize("layout", ["llama", "equinox"])
def test_two_dimensional_projection_becomes_three_dimensional_and_comes_back(layout, generator):
    # Rows 0, 1, 2, … of the projection: head h has those from h * head_dim, transposed.
    config = AttentionConfig.per_head(7, 5, 3, 11)
    q, k, v, _ = NAMES[layout]
    flat = torch.arange(15.0)[:, None].expand(15, 7)
    state = {f"{q}.weight": flat, f"{k}.weight": flat + 100, f"{v}.weight": flat + 200}
    heads = HeadWeights.from_state_dict(state, layout, config).to_state_dict("heads")
    assert heads["W_K"].shape == (3, 7, 5)
    torch.testing.assert_close(heads["W_K"][2, 6], torch.tensor([110.0, 111, 112, 113, 114]))
    back = HeadWeights.from_state_dict(heads, "heads", config).to_state_dict(layout)
    for name, tensor in state.items():
        torch.testing.assert_close(back[name], tensor, rtol=0, atol=0)


def test_llama_is_what_transformers_computes(generator):
    from transformers.models.llama import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaAttention

    config = AttentionConfig.total(60, 60, 6, 11, num_kv_heads=2, out_bias=False)
    weights = HeadWeights.init(config, generator=generator)
    sizes = {"hidden_size": 60, "num_attention_heads": 6, "num_key_value_heads": 2}
    theirs = LlamaAttention(LlamaConfig(**sizes, attn_implementation="eager"), layer_idx=0)
    theirs.load_state_dict(weights.to_state_dict("llama"))
    x, rotary = torch.randn(2, 11, 60, generator=generator), Rotary(10, 11)
    turns = tuple(torch.cat([t, t], dim=-1)[None] for t in (rotary.cos, rotary.sin))
    mask = torch.full((11, 11), -torch.inf).triu(1)
    ours, pattern = build_attention("batched", config, weights)(x, need_pattern=True, rotary=rotary)
    out, their_pattern = theirs(x, position_embeddings=turns, attention_mask=mask)
    torch.testing.assert_close(out, ours)
    torch.testing.assert_close(their_pattern, pattern)
