import torch
from torch import nn

from attention.config import AttentionConfig
from attention.implementations import build_attention
from attention.implementations.looped import CausalSelfAttention
from attention.weights import HeadWeights

WRAPPER = AttentionConfig.per_head(7, 5, 3, 11)


def test_output_is_the_single_heads_side_by_side(generator):
    module = build_attention("looped", WRAPPER, HeadWeights.init(WRAPPER, generator=generator))
    x = torch.randn(2, 11, 7, generator=generator)
    alone = [head(x, module, None).z for head in module.heads]
    torch.testing.assert_close(module(x), torch.cat(alone, dim=-1), rtol=0, atol=0)


def test_each_head_is_a_module_with_projections_of_its_own():
    from attention.implementations.looped import MultiHeadAttentionWrapper

    module = MultiHeadAttentionWrapper(WRAPPER)
    assert isinstance(module.heads, nn.ModuleList)
    assert [type(head) for head in module.heads] == [CausalSelfAttention] * 3
    assert {tuple(p.shape) for p in module.parameters()} == {(5, 7)}
    assert len(list(module.parameters())) == 3 * 3


def test_the_books_example_is_num_heads_times_as_wide_as_d_out():
    # Raschka, section 3.6.1: d_in 3, d_out 2, 2 heads, 6 tokens: the output is 4 wide.
    config = AttentionConfig.per_head(3, 2, 2, 6)
    weights = HeadWeights.init(config, generator=torch.Generator().manual_seed(123))
    assert build_attention("looped", config, weights)(torch.zeros(2, 6, 3)).shape == (2, 6, 4)


def test_heads_that_share_a_kv_head_are_trained_as_one(generator):
    # Each head once had a copy of its own: after one step they differed, and the layer could not
    # give its head weights back.
    config = AttentionConfig.total(7, 30, 6, 11, num_kv_heads=2, qkv_bias=True)
    module = build_attention("looped", config, HeadWeights.init(config, generator=generator))
    assert module.heads[2].W_key.weight is module.heads[0].W_key.weight
    assert module.heads[3].W_key.weight is not module.heads[0].W_key.weight
    before = module.head_weights()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    module(torch.randn(2, 11, 7, generator=generator)).square().sum().backward()
    optimizer.step()
    after = module.double().head_weights()
    assert after.W_K.shape == (2, 7, 5)
    assert (after.W_K - before.W_K).abs().max() > 1e-4
