"""Round trips between the head-explicit weights and every layout."""

import pytest
import torch

from attention.config import AttentionConfig
from attention.errors import ConfigError
from attention.layouts import LAYOUTS
from attention.weights import HeadWeights

CONFIGS = {
    "plain": AttentionConfig.total(7, 15, 3, 11, out_bias=False),
    "every bias": AttentionConfig.total(7, 15, 3, 11, qkv_bias=True),
    "qkv bias only": AttentionConfig.total(7, 15, 3, 11, qkv_bias=True, out_bias=False),
    "no output projection": AttentionConfig.per_head(7, 5, 3, 11, qkv_bias=True),
    "one head": AttentionConfig.total(7, 5, 1, 11),
    "shared kv heads": AttentionConfig.total(7, 45, 9, 11, num_kv_heads=3, qkv_bias=True),
    "one kv head": AttentionConfig.total(7, 15, 3, 11, num_kv_heads=1),
    "other width out": AttentionConfig(
        d_in=7, num_heads=3, head_dim=5, context_length=11, num_kv_heads=3, d_model=13
    ),
}


@pytest.fixture(params=CONFIGS.values(), ids=CONFIGS)
def config(request):
    return request.param


@pytest.fixture(params=LAYOUTS)
def layout(request):
    return request.param


def same(found, expected):
    for name, tensor in expected.parts().items():
        other = found.parts()[name]
        assert (tensor is None) == (other is None), name
        if tensor is not None:
            torch.testing.assert_close(other, tensor, rtol=0, atol=0)


def test_round_trip_is_exact(config, layout, generator):
    weights = HeadWeights.init(config, generator=generator)
    same(HeadWeights.from_state_dict(weights.to_state_dict(layout), layout, config), weights)


@pytest.mark.parametrize("other", LAYOUTS)
def test_round_trip_by_way_of_another_layout_is_exact(layout, other, generator):
    config = CONFIGS["shared kv heads"]
    start = HeadWeights.init(config, generator=generator).to_state_dict(layout)
    there = HeadWeights.from_state_dict(start, layout, config).to_state_dict(other)
    back = HeadWeights.from_state_dict(there, other, config).to_state_dict(layout)
    assert back.keys() == start.keys()
    for name, tensor in start.items():
        torch.testing.assert_close(back[name], tensor, rtol=0, atol=0)


def test_round_trip_of_nan_is_exact(layout, generator):
    # NaN is not equal to itself: the loop once said that heads 0 and 0 differ.
    config = CONFIGS["plain"]
    weights = HeadWeights.init(config, generator=generator)
    weights.W_K[1, 2, 3] = torch.nan
    back = HeadWeights.from_state_dict(weights.to_state_dict(layout), layout, config)
    torch.testing.assert_close(back.W_K, weights.W_K, equal_nan=True)


def test_missing_name_is_refused(config, layout, generator):
    state = HeadWeights.init(config, generator=generator).to_state_dict(layout)
    for name in state:
        rest = {k: t for k, t in state.items() if k != name}
        with pytest.raises(ConfigError, match="it is missing") as error:
            HeadWeights.from_state_dict(rest, layout, config)
        assert f"must hold {name} of shape" in str(error.value)


def test_extra_name_is_refused(config, layout, generator):
    state = HeadWeights.init(config, generator=generator).to_state_dict(layout)
    state["W_extra.weight"] = torch.zeros(1)
    with pytest.raises(ConfigError, match=r"nothing else; got also W_extra\.weight"):
        HeadWeights.from_state_dict(state, layout, config)


def test_misshapen_tensor_is_refused_with_both_shapes(config, layout, generator):
    state = HeadWeights.init(config, generator=generator).to_state_dict(layout)
    for name, tensor in state.items():
        with pytest.raises(ConfigError, match="must have shape") as error:
            HeadWeights.from_state_dict({**state, name: tensor[..., :-1]}, layout, config)
        assert str(tuple(tensor.shape)) in str(error.value)


def test_bias_that_the_config_does_not_have_is_refused(layout, generator):
    state = HeadWeights.init(CONFIGS["every bias"], generator=generator).to_state_dict(layout)
    with pytest.raises(ConfigError, match="nothing else"):
        HeadWeights.from_state_dict(state, layout, CONFIGS["plain"])


def test_unknown_layout_is_refused_with_the_choices(generator):
    weights = HeadWeights.init(CONFIGS["plain"], generator=generator)
    choices = f"layout must be one of {', '.join(LAYOUTS)}; got 'gpt3'"
    with pytest.raises(ConfigError, match=choices):
        weights.to_state_dict("gpt3")
    with pytest.raises(ConfigError, match=choices):
        HeadWeights.from_state_dict({}, "gpt3", CONFIGS["plain"])


def test_every_layout_says_what_it_looks_like():
    assert list(LAYOUTS) == [layout.name for layout in LAYOUTS.values()]
    assert len({layout.summary for layout in LAYOUTS.values()}) == len(LAYOUTS)
