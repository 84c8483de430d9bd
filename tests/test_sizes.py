import pytest
import torch

from attention.sizes import memory_needed, num_parameters, shape_of
from tests.builders import model_config, small_model


@pytest.mark.parametrize(
    "config",
    [
        model_config(),
        model_config(num_layers=1, d_mlp=None),
        model_config(num_layers=5, num_heads=9, num_kv_heads=3, qkv_bias=True),
    ],
)
def test_sizes_are_those_of_the_model(config):
    model = small_model(config)
    assert num_parameters(config) == sum(p.numel() for p in model.parameters())
    for name, parameter in model.named_parameters():
        assert shape_of(config, name) == parameter.shape


def test_name_that_no_model_has_has_no_shape():
    assert shape_of(model_config(), "blocks.0.norm") is None
    assert shape_of(model_config(), "head.weight") is None


def test_memory_is_that_of_the_weights_and_of_reading_the_largest():
    config = model_config(vocab_size=101, d_model=15)  # the embedding is the largest
    weights = num_parameters(config)
    assert memory_needed(config, torch.float32) == 4 * weights + 4 * 101 * 15
    assert memory_needed(config, torch.bfloat16) == 2 * weights + 4 * 101 * 15


def test_size_of_an_absurd_model_takes_no_memory():
    assert num_parameters(model_config(num_layers=10**9, vocab_size=10**12)) > 10**12
