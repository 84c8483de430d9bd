import dataclasses

import pytest
import torch

from attention.config import AttentionConfig
from attention.errors import ConfigError
from attention.implementations import build_attention
from attention.implementations.looped_book import FloatMask
from attention.weights import HeadWeights

CONFIG = AttentionConfig.per_head(7, 5, 3, 17)


def build(config=CONFIG):
    weights = HeadWeights.init(config, generator=torch.Generator().manual_seed(3))
    return build_attention("looped_book", config, weights)


def test_every_head_converts_the_whole_context_in_every_forward(monkeypatch):
    # The cost that is shown apart from the loop's: it must not shrink to the text's length.
    module, converted = build(), []
    to_bool = torch.Tensor.bool
    monkeypatch.setattr(
        torch.Tensor,
        "bool",
        lambda tensor: converted.append((tensor.shape, tensor.dtype)) or to_bool(tensor),
    )
    module(torch.zeros(1, 5, 7))
    module(torch.zeros(1, 5, 7))
    assert converted == [((17, 17), torch.float32)] * 6


def test_each_head_has_a_mask_of_its_own():
    module = build()
    module(torch.zeros(1, 5, 7))
    masks = [head.mask for head in module.heads]
    assert all(isinstance(mask, FloatMask) for mask in masks)
    assert len({mask.allowed.data_ptr() for mask in masks}) == 3
    assert not list(module.mask.buffers())  # the layer's own is never made


def test_masks_are_not_saved():
    assert not [name for name in build().state_dict() if "mask" in name]


def test_context_whose_masks_would_fill_the_memory_is_refused_with_the_numbers():
    long = dataclasses.replace(CONFIG, context_length=8192)
    with pytest.raises(ConfigError, match=r"must be at most 268 MB a layer; 3 heads of .* 805 MB"):
        build(long)
