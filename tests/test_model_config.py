import dataclasses

import pytest

from attention.config import AttentionConfig
from attention.errors import ConfigError
from tests.builders import model_config


def test_sizes_of_the_layer_are_those_of_the_model():
    config = model_config()
    assert (config.d_model, config.num_heads, config.context_length) == (15, 3, 61)


@pytest.mark.parametrize("name", ["vocab_size", "num_layers", "d_mlp"])
def test_size_below_1_is_refused(name):
    with pytest.raises(ConfigError, match=f"{name} must be a whole number of at least 1; got 0"):
        dataclasses.replace(model_config(), **{name: 0})


def test_odd_head_dim_is_refused_for_rotary_positions():
    attention = dataclasses.replace(model_config().attention, head_dim=5)
    with pytest.raises(ConfigError, match=r"head_dim must be even for rotary positions, .*; got 5"):
        dataclasses.replace(model_config(), attention=attention)


@pytest.mark.parametrize(
    "attention",
    [
        AttentionConfig.total(15, 30, 3, 61),  # 30 out of 15 in: it cannot be added back
        AttentionConfig.total(30, 30, 3, 61, out_proj=False),
    ],
)
def test_layer_that_does_not_fit_the_residual_stream_is_refused(attention):
    with pytest.raises(ConfigError, match="out_proj and d_model equal to d_in"):
        dataclasses.replace(model_config(), attention=attention)


@pytest.mark.usefixtures("as_in_use")
@pytest.mark.parametrize("name", ["norm_eps", "embed_scale"])
@pytest.mark.parametrize("value", [0, -1.0, "x", None, float("nan")])
def test_number_not_above_zero_is_refused(name, value):
    with pytest.raises(ConfigError, match=f"{name} must be a number above 0; got "):
        dataclasses.replace(model_config(), **{name: value})


@pytest.mark.parametrize("bos", [-1, 1_000_000])
def test_bos_outside_the_vocabulary_is_refused(bos):
    with pytest.raises(ConfigError, match="bos_token_id must be 0 to "):
        dataclasses.replace(model_config(), bos_token_id=bos)
