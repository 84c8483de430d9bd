import math

import pytest
import torch

from attention import rotary as module_under_test
from attention.errors import ConfigError
from attention.rotary import Rope, Rotary


def test_position_0_is_not_turned(generator):
    x = torch.randn(1, 1, 10, generator=generator)
    torch.testing.assert_close(Rotary(10, 7)(x), x)


def test_position_1_turns_the_first_pair_by_one_radian():
    x = torch.zeros(1, 2, 4)
    x[0, 1, 0] = 1.0  # its partner is feature 2, the first of the other half
    turned = Rotary(4, 7)(x)
    expected = torch.tensor([math.cos(1), 0.0, math.sin(1), 0.0])
    torch.testing.assert_close(turned[0, 1], expected)


def test_second_pair_turns_by_theta_to_the_minus_half():
    x = torch.zeros(1, 2, 4)
    x[0, 1, 1] = 1.0
    turned = Rotary(4, 7, theta=100.0)(x)
    expected = torch.tensor([0.0, math.cos(0.1), 0.0, math.sin(0.1)])
    torch.testing.assert_close(turned[0, 1], expected)


def test_lengths_stay(generator):
    x = torch.randn(2, 3, 11, 10, generator=generator)
    torch.testing.assert_close(Rotary(10, 13)(x).norm(dim=-1), x.norm(dim=-1))


def test_scores_depend_on_the_distance_alone(generator):
    q, k = torch.randn(2, 10, generator=generator)
    rotary = Rotary(10, 13)
    turned_q, turned_k = rotary(q.expand(13, 10)), rotary(k.expand(13, 10))
    scores = turned_q @ turned_k.T
    # Float32 sums of ten products of about 1.
    torch.testing.assert_close(scores[7, 5], scores[12, 10], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(scores[2, 0], scores[12, 10], rtol=1e-4, atol=1e-5)


def test_narrow_input_stays_narrow(generator):
    x = torch.randn(3, 10, generator=generator).to(torch.bfloat16)
    assert Rotary(10, 7)(x).dtype == torch.bfloat16


def test_angles_follow_the_module_and_are_no_part_of_a_checkpoint():
    rotary = Rotary(10, 7).to("meta")
    assert rotary.cos.device.type == rotary.sin.device.type == "meta"
    assert not rotary.state_dict()


def test_only_the_first_features_are_turned(generator):
    x = torch.randn(1, 7, 10, generator=generator)
    partial = Rotary(10, 7, rope=Rope(rotary_dim=4))(x)
    torch.testing.assert_close(partial[..., :4], Rotary(4, 7)(x[..., :4]))
    torch.testing.assert_close(partial[..., 4:], x[..., 4:], rtol=0, atol=0)


def test_angles_beyond_those_prepared_are_the_same(generator, monkeypatch):
    x = torch.randn(1, 13, 10, generator=generator)
    whole = Rotary(10, 13)(x)
    monkeypatch.setattr(module_under_test, "PREPARED", 3)
    rotary = Rotary(10, 13)
    assert len(rotary.cos) == 3
    torch.testing.assert_close(rotary(x[:, :4]), whole[:, :4])
    torch.testing.assert_close(rotary(x[:, 4:], start=4), whole[:, 4:])
    assert len(rotary.cos) == 13


@pytest.mark.parametrize("theta", [0, -1.0, "x", None, float("nan")])
@pytest.mark.usefixtures("as_in_use")
def test_base_not_above_zero_is_refused(theta):
    with pytest.raises(ConfigError, match="rope_theta must be a number above 0; got "):
        Rope(theta=theta)
