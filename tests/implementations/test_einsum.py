from dataclasses import replace

import torch

from attention.config import AttentionConfig
from attention.implementations import build_attention
from attention.weights import HeadWeights

CONFIG = AttentionConfig.total(7, 45, 9, 11, num_kv_heads=3, qkv_bias=True)


def build(config, weights):
    return build_attention("einsum", config, weights, dtype=torch.float64)


def test_a_head_is_an_index_of_every_parameter(generator):
    module = build(CONFIG, HeadWeights.init(CONFIG, generator=generator))
    shapes = {name: tuple(p.shape) for name, p in module.named_parameters()}
    assert shapes.pop("b_O") == (45,)
    assert shapes == {
        "W_Q": (9, 7, 5), "W_K": (3, 7, 5), "W_V": (3, 7, 5), "W_O": (9, 5, 45),
        "b_Q": (9, 5), "b_K": (3, 5), "b_V": (3, 5),
    }  # fmt: skip


def test_shards_of_heads_add_up_to_the_layer(generator):
    # Two processes with a slice of the heads each: their outputs are summed, the bias added once.
    weights = HeadWeights.init(CONFIG, generator=generator)
    x = torch.randn(2, 11, 7, generator=generator).double()
    shards = []
    for heads, kv in ((slice(0, 3), slice(0, 1)), (slice(3, 9), slice(1, 3))):
        cut = {
            name: tensor[kv if name[-1] in "KV" else heads]
            for name, tensor in weights.parts().items()
            if name != "b_O"
        }
        config = replace(
            CONFIG, num_heads=len(cut["W_Q"]), num_kv_heads=len(cut["W_K"]), out_bias=False
        )
        shards.append(build(config, HeadWeights(**cut))(x))
    torch.testing.assert_close(sum(shards) + weights.b_O, build(CONFIG, weights)(x))


def test_dropout_drops_in_training(generator):
    config = replace(CONFIG, dropout=0.5)
    module = build(config, HeadWeights.init(config, generator=generator))
    x = torch.randn(1, 11, 7, generator=generator).double()
    whole = module(x)
    assert (module.train()(x) - whole).abs().max() > 0.01
