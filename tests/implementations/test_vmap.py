import copy
import pickle
from dataclasses import replace

import pytest
import torch

from attention.config import AttentionConfig
from attention.implementations import build_attention
from attention.implementations.looped import CausalSelfAttention
from attention.weights import HeadWeights

CONFIG = AttentionConfig.total(7, 45, 9, 11, num_kv_heads=3, qkv_bias=True)


def build(config=CONFIG, name="vmap"):
    return build_attention(
        name, config, HeadWeights.init(config, generator=torch.Generator().manual_seed(3))
    )


def sequence(batch=2):
    return torch.randn(batch, 11, 7, generator=torch.Generator().manual_seed(4))


@pytest.mark.parametrize("config", [CONFIG, AttentionConfig.total(7, 15, 3, 11)])
def test_the_loops_own_head_runs_once_for_all(config, monkeypatch):
    calls = []
    forward = CausalSelfAttention.forward
    monkeypatch.setattr(
        CausalSelfAttention,
        "forward",
        lambda self, *given: calls.append(self) or forward(self, *given),
    )
    build(config)(sequence())
    assert len(calls) == 1


def test_operators_do_not_grow_with_the_heads():
    def count(num_heads):
        module = build(AttentionConfig.per_head(7, 5, num_heads, 11))
        with torch.no_grad(), torch.profiler.profile() as profile:
            module(sequence())
        return sum(e.count for e in profile.key_averages() if e.key.startswith("aten::"))

    assert count(2) == count(17)


def test_parameters_are_the_stacked_heads_and_nothing_else():
    shapes = {name: tuple(p.shape) for name, p in build().named_parameters()}
    assert shapes.pop("out_proj.weight") == (45, 45)
    assert shapes.pop("out_proj.bias") == (45,)
    assert shapes == {
        "heads.W_query.weight": (9, 5, 7), "heads.W_query.bias": (9, 5),
        "heads.W_key.weight": (3, 5, 7), "heads.W_key.bias": (3, 5),
        "heads.W_value.weight": (3, 5, 7), "heads.W_value.bias": (3, 5),
    }  # fmt: skip


def test_shared_kv_heads_are_trained_as_one():
    module = build()
    before = module.head_weights().W_K.clone()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    module(sequence()).square().sum().backward()
    optimizer.step()
    looped = build(name="looped")
    looped_optimizer = torch.optim.SGD(looped.parameters(), lr=0.1)
    looped(sequence()).square().sum().backward()
    looped_optimizer.step()
    after = module.head_weights().W_K
    assert (after - before).abs().max() > 1e-4
    torch.testing.assert_close(after, looped.head_weights().W_K)


def test_each_head_draws_its_own_dropout():
    # One draw for all heads would drop the same cells in each.
    config = replace(CONFIG, num_heads=3, num_kv_heads=3, d_model=15, out_proj=False, dropout=0.5)
    weights = HeadWeights.init(config, generator=torch.Generator().manual_seed(3))
    same = weights.map(lambda t: t[:1].expand_as(t).clone())
    module = build_attention("vmap", config, same).train()
    first, second, _ = module(sequence()).chunk(3, dim=-1)
    assert (first - second).abs().max() > 0.01
    torch.testing.assert_close(*module.eval()(sequence()).chunk(3, dim=-1)[:2])


def test_it_can_be_copied_and_pickled():
    module, x = build(), sequence()
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        torch.testing.assert_close(other(x), module(x), rtol=0, atol=0)
