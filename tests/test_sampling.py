import pytest
import torch

from attention.errors import ConfigError
from attention.sampling import next_token, require_temperature

LOGITS = torch.tensor([1.0, 3.0, 2.0, -5.0, 0.0])


@pytest.mark.parametrize("temperature", [0.0, 5e-324, 1e-45, 1e-3])
def test_smallest_temperatures_take_the_likeliest_token(temperature, generator):
    # Logits over 1e-40 are infinite in float32: the draw broke down.
    assert next_token(LOGITS, temperature, generator=generator) == 1


def test_temperature_of_1_draws_as_the_model_expects(generator):
    drawn = [next_token(LOGITS, 1.0, generator=generator) for _ in range(2_000)]
    shares = torch.bincount(torch.tensor(drawn), minlength=5) / len(drawn)
    # 0.05 is more than four standard deviations of a share of 2,000 draws.
    torch.testing.assert_close(shares, LOGITS.softmax(dim=0), rtol=0, atol=0.05)


@pytest.mark.usefixtures("as_in_use")
@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf"), "1", None, True])
def test_no_temperature(value):
    with pytest.raises(ConfigError, match="temperature must be at least 0 and finite; got "):
        require_temperature(value)
