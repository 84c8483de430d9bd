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
