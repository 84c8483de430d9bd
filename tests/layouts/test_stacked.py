import torch
from torch.func import stack_module_state

from attention.config import AttentionConfig
from attention.implementations import build_attention
from attention.weights import HeadWeights


def test_is_what_torch_makes_of_the_loops_heads(generator):
    config = AttentionConfig.total(7, 15, 3, 11, qkv_bias=True)
    weights = HeadWeights.init(config, generator=generator)
    heads = build_attention("looped", config, weights).heads
    stacked, _ = stack_module_state(list(heads))
    state = weights.to_state_dict("stacked")
    assert {f"heads.{name}" for name in stacked} == {n for n in state if n.startswith("heads.")}
    for name, tensor in stacked.items():
        torch.testing.assert_close(state[f"heads.{name}"], tensor.detach(), rtol=0, atol=0)


def test_shared_kv_heads_are_there_once(weights):
    state = weights.to_state_dict("stacked")
    assert state["heads.W_query.weight"].shape == (9, 5, 7)
    assert state["heads.W_key.weight"].shape == (3, 5, 7)
