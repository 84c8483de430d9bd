"""Stretched wavelengths, held to those of `transformers`."""

import math

import pytest
import torch

from attention.errors import ConfigError
from attention.families.rope import read_rope
from attention.rope_scaling import Dynamic, Linear, Llama3, Scaling, Yarn
from attention.rotary import Rope, Rotary

HEAD_DIM, THETA, LENGTH = 22, 500.0, 61
LLAMA3 = {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 37}
YARN = {"rope_type": "yarn", "original_max_position_embeddings": 37}
MAKES = {
    "linear": {"rope_type": "linear", "factor": 3.7},
    "dynamic": {"rope_type": "dynamic", "factor": 3.0},
    "llama3": {"rope_type": "llama3", "factor": 8.0, **LLAMA3},
    "yarn": {**YARN, "factor": 4.0},
    "yarn that cuts no pairs": {**YARN, "factor": 1.7, "truncate": False, "beta_fast": 5},
    "yarn of a step": {**YARN, "factor": 4.0, "beta_fast": 1.0, "beta_slow": 0.999},
    "yarn with an amplitude": {**YARN, "factor": 2.0, "attention_factor": 0.7, "beta_slow": 2.5},
    "yarn with mscales": {**YARN, "factor": 40.0, "mscale": 0.707, "mscale_all_dim": 1.3},
    "yarn with one mscale": {**YARN, "factor": 40.0, "mscale": 0.707},
    "yarn, no factor": {**YARN, "factor": None},
    "yarn, no length": {"rope_type": "yarn", "factor": 4.0},
}


def plain_rates():
    return THETA ** (-torch.arange(0, HEAD_DIM, 2, dtype=torch.float64) / HEAD_DIM)


def of_transformers(parameters, seq_len):
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    config = LlamaConfig(head_dim=HEAD_DIM, max_position_embeddings=LENGTH)
    config.rope_parameters = {"rope_theta": THETA, **parameters}
    return ROPE_INIT_FUNCTIONS[parameters["rope_type"]](config, "cpu", seq_len=seq_len)


@pytest.mark.parametrize("seq_len", [5, LENGTH, 150])
@pytest.mark.parametrize("make", MAKES)
def test_rates_are_those_of_transformers(make, seq_len):
    given = {"rope_theta": THETA, "max_position_embeddings": LENGTH, "rope_scaling": MAKES[make]}
    scaling = read_rope(given, HEAD_DIM).scaling
    assert isinstance(scaling, Scaling)
    rates, amplitude = of_transformers(MAKES[make], seq_len)
    found = scaling.rates(plain_rates(), THETA, seq_len).float()
    torch.testing.assert_close(found, rates)
    assert scaling.amplitude == pytest.approx(amplitude)
    unchanged = make == "dynamic" and seq_len <= LENGTH
    assert torch.equal(found, plain_rates().float()) == unchanged
    assert scaling.depends_on_length(seq_len) == (make == "dynamic" and seq_len > LENGTH)


def test_linear_is_as_if_positions_were_closer(generator):
    x = torch.randn(1, 13, 10, generator=generator)
    stretched = Rotary(10, 13, rope=Rope(scaling=Linear(factor=3.0)))(x)
    torch.testing.assert_close(stretched[:, 12], Rotary(10, 13)(x[:, 12:], start=4)[:, 0])


def test_dynamic_turns_a_short_text_as_without_it(generator):
    # The angles were once worked out for the longest text, and used for short ones.
    x = torch.randn(1, 20, 10, generator=generator)
    rotary = Rotary(10, 20, rope=Rope(scaling=Dynamic(factor=2.0, original_length=11)))
    plain = Rotary(10, 20)(x)
    torch.testing.assert_close(rotary(x[:, :11]), plain[:, :11])
    assert (rotary(x)[:, 1:11] - plain[:, 1:11]).abs().max() > 0.01
    torch.testing.assert_close(rotary(x[:, :11]), plain[:, :11])


def test_dynamic_reads_on_by_the_length_so_far(generator):
    x = torch.randn(1, 20, 10, generator=generator)
    rotary = Rotary(10, 20, rope=Rope(scaling=Dynamic(factor=2.0, original_length=11)))
    torch.testing.assert_close(rotary(x[:, 19:], start=19)[:, 0], rotary(x)[:, 19])


def test_amplitude_lengthens_the_turned_features_alone(generator):
    yarn = Yarn(factor=2.0, original_length=11, attention_factor=1.5)
    x = torch.randn(1, 7, 10, generator=generator)
    turned = Rotary(10, 13, rope=Rope(rotary_dim=6, scaling=yarn))(x)
    torch.testing.assert_close(turned[..., :6].norm(dim=-1), 1.5 * x[..., :6].norm(dim=-1))
    torch.testing.assert_close(turned[..., 6:], x[..., 6:], rtol=0, atol=0)


def test_llama3_leaves_short_wavelengths_and_stretches_long_ones():
    scaling = Llama3(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_length=100)
    turns = torch.tensor([4.1, 2.5, 0.9], dtype=torch.float64)
    kept = scaling.rates(turns * 2 * math.pi / 100, THETA, 1) / (turns * 2 * math.pi / 100)
    torch.testing.assert_close(kept, torch.tensor([1.0, 0.5 + 0.5 / 8, 1 / 8]).double())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Linear(factor=0.5), "factor must be at least 1; got 0.5"),
        (lambda: Linear(factor="2"), "factor must be a number above 0; got '2'"),
        (lambda: Dynamic(factor=2.0, original_length=0), "original_length must be a number above"),
        (
            lambda: Llama3(
                factor=2.0, low_freq_factor=4.0, high_freq_factor=4.0, original_length=9
            ),
            "high_freq_factor must be above low_freq_factor 4.0; got 4.0",
        ),
        (
            lambda: Dynamic(factor=2.0, original_length=9).rates(torch.ones(1), 10.0, 11),
            "head_dim must be at least 4 for dynamic scaling; got 2",
        ),
        (
            lambda: Yarn(factor=2.0, original_length=9, attention_factor=1.0).rates(
                torch.ones(3), 1.0, 11
            ),
            "rope_theta must be above 1 for YaRN; got 1.0",
        ),
    ],
)
@pytest.mark.usefixtures("as_in_use")
def test_what_is_none_is_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()
