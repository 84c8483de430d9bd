import torch
from torch.utils._python_dispatch import TorchDispatchMode

from attention.config import AttentionConfig
from attention.implementations import build_attention
from attention.weights import HeadWeights

CONFIG = AttentionConfig.total(7, 45, 9, 11, num_kv_heads=3, out_proj=False)


class Products(TorchDispatchMode):
    """The shapes of what `bmm` multiplies."""

    def __init__(self):
        super().__init__()
        self.shapes = []

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        if operator is torch.ops.aten.bmm.default:
            self.shapes.append(tuple(tuple(tensor.shape) for tensor in args))
        return operator(*args, **(kwargs or {}))


def products(name, generator):
    module = build_attention(name, CONFIG, HeadWeights.init(CONFIG, generator=generator))
    with torch.no_grad(), Products() as seen:
        module(torch.randn(1, 11, 7, generator=generator))
    return seen.shapes


def test_each_kv_head_is_multiplied_once_with_the_queries_of_all_heads_that_share_it(generator):
    # A matmul over an axis of length 1 would copy k and v for each head as `batched` does.
    rows = 3 * 11
    assert products("grouped", generator) == [
        ((3, rows, 5), (3, 5, 11)), ((3, rows, 11), (3, 11, 5)),
    ]  # fmt: skip
    assert products("batched", generator) == [
        ((9, 11, 5), (9, 5, 11)), ((9, 11, 11), (9, 11, 5)),
    ]  # fmt: skip


def test_without_shared_kv_heads_it_is_the_batched_one(generator):
    config = AttentionConfig.total(7, 15, 3, 11)
    weights = HeadWeights.init(config, generator=generator)
    x = torch.randn(2, 11, 7, generator=generator)
    grouped, batched = (build_attention(n, config, weights) for n in ("grouped", "batched"))
    torch.testing.assert_close(grouped(x), batched(x), rtol=0, atol=0)
