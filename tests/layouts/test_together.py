import pytest
import torch
from torch import nn

from attention.config import AttentionConfig
from attention.errors import ConfigError
from attention.implementations import build_attention
from attention.weights import HeadWeights

BLOCKED = torch.ones(11, 11, dtype=torch.bool).triu(1)  # to torch, True may not attend
SQUARE = {
    "own kv heads": AttentionConfig.total(15, 15, 3, 11, qkv_bias=True),
    "shared kv heads": AttentionConfig.total(30, 30, 6, 11, num_kv_heads=2, qkv_bias=True),
}


@pytest.fixture(params=SQUARE.values(), ids=SQUARE)
def square(request, generator):
    """A layer that others have too, its weights, an input and what our batched version says."""
    config = request.param
    weights = HeadWeights.init(config, generator=generator).map(lambda t: 3 * t)
    x = torch.randn(2, 11, config.d_in, generator=generator)
    return config, weights, x, build_attention("batched", config, weights)(x, need_pattern=True)


def test_fused_holds_all_of_q_then_all_of_k_then_all_of_v(weights):
    state = weights.to_state_dict("fused")
    assert state["W_qkv.weight"].shape == (45 + 15 + 15, 7)
    torch.testing.assert_close(state["W_qkv.weight"][:5], weights.W_Q[0].T)
    torch.testing.assert_close(state["W_qkv.weight"][45:50], weights.W_K[0].T)
    torch.testing.assert_close(state["W_qkv.weight"][60:65], weights.W_V[0].T)


@pytest.mark.parametrize("layout", ["fused", "torch", "looped", "stacked"])
def test_output_projection_takes_the_concatenated_heads(weights, layout):
    state = weights.to_state_dict(layout)
    torch.testing.assert_close(state["out_proj.weight"][:, 35:40], weights.W_O[7].T)
    torch.testing.assert_close(state["out_proj.bias"], weights.b_O)


def test_torch_is_the_state_of_multihead_attention(square):
    config, weights, x, (out, pattern) = square
    theirs = nn.MultiheadAttention(config.d_out, config.num_heads, batch_first=True)
    theirs.load_state_dict(weights.to_state_dict("torch"))
    found = theirs(x, x, x, attn_mask=BLOCKED, average_attn_weights=False)
    torch.testing.assert_close(found, (out, pattern))
    again = HeadWeights.from_state_dict(theirs.state_dict(), "torch", config)
    torch.testing.assert_close(again.W_K, weights.W_K, rtol=0, atol=0)


def test_gpt2_is_the_state_of_its_attention(square):
    from transformers.models.gpt2 import GPT2Config
    from transformers.models.gpt2.modeling_gpt2 import GPT2Attention

    config, weights, x, (out, pattern) = square
    sizes = {"n_embd": config.d_in, "n_head": config.num_heads, "n_positions": 11}
    theirs = GPT2Attention(GPT2Config(**sizes, attn_implementation="eager"), layer_idx=0).eval()
    theirs.load_state_dict(weights.to_state_dict("gpt2"))
    mask = torch.zeros(11, 11).masked_fill(BLOCKED, -torch.inf)
    found = theirs(x, attention_mask=mask)
    torch.testing.assert_close(found[0], out)
    torch.testing.assert_close(found[1], pattern)
    again = HeadWeights.from_state_dict(theirs.state_dict(), "gpt2", config)
    torch.testing.assert_close(again.W_V, weights.W_V, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("layout", "name"), [("fused", "W_qkv.weight"), ("torch", "in_proj_weight")]
)
def test_order_of_gpt_neox_is_another(layout, name, generator):
    # [head, 3, head_dim] has the shape of [3, head, head_dim]: nothing complains.
    config = SQUARE["own kv heads"]
    weights = HeadWeights.init(config, generator=generator)
    state = weights.to_state_dict(layout)
    neox = state[name].unflatten(0, (3, 3, 5)).transpose(0, 1).flatten(0, 2)
    wrong = HeadWeights.from_state_dict({**state, name: neox}, layout, config)
    torch.testing.assert_close(wrong.W_Q[0], weights.W_Q[0])  # the first head is right
    torch.testing.assert_close(wrong.W_Q[1], weights.W_K[0])
    x = torch.randn(1, 11, 15, generator=generator)
    ours, theirs = (build_attention("batched", config, w)(x) for w in (weights, wrong))
    assert (ours - theirs).abs().max() > 0.1


@pytest.mark.parametrize(
    ("layout", "name", "head"),
    [("torch", "in_proj_weight", slice(60, 61)), ("gpt2", "c_attn.bias", slice(60, 61))],
)
def test_heads_that_share_a_kv_head_must_agree(weights, config, layout, name, head):
    # Rows 45 to 89 are the 9 heads' k: row 60 is of head 3, which shares with 4 and 5.
    state = weights.to_state_dict(layout)
    state[name] = state[name].clone()
    state[name][head] += 1
    with pytest.raises(ConfigError, match=f"{name} must be equal .* heads 3 and 4 differ"):
        HeadWeights.from_state_dict(state, layout, config)
