import numpy as np
import pytest
import torch

from attention.errors import (
    LARGEST,
    ConfigError,
    DeviceError,
    HeadscopeError,
    ModelError,
    TextError,
    is_number,
    require_choice,
    require_head,
    require_positive,
    require_seed,
    require_size,
)


@pytest.mark.parametrize("error", [ConfigError, TextError, ModelError, DeviceError])
def test_each_of_our_errors_can_be_caught_as_ours_and_as_a_value_error(error):
    assert issubclass(error, HeadscopeError)
    assert issubclass(error, ValueError)


@pytest.mark.usefixtures("as_in_use")
@pytest.mark.parametrize("value", [0, -1, 1.0, "1", None, True])
def test_no_positive_whole_number(value):
    with pytest.raises(ConfigError) as error:
        require_positive("size", value)
    assert str(error.value) == f"size must be a whole number of at least 1; got {value!r}."


def test_positive_whole_number():
    require_positive("size", 1)


def test_choice():
    require_choice("colour", "red", ("red", "blue"))
    with pytest.raises(ConfigError) as error:
        require_choice("colour", "green", ("red", "blue"))
    assert str(error.value) == "colour must be one of red, blue; got 'green'."


def test_head():
    require_head(1, 2, num_layers=2, num_heads=3)
    with pytest.raises(ConfigError, match=r"layer must be 0 to 1; got 2\."):
        require_head(2, 0, num_layers=2, num_heads=3)
    with pytest.raises(ConfigError, match=r"head must be 0 to 2; got -1\."):
        require_head(0, -1, num_layers=2, num_heads=3)


@pytest.mark.usefixtures("as_in_use")
def test_head_is_given_back_as_plain_numbers():
    found = require_head(np.int64(1), torch.tensor(2), num_layers=2, num_heads=3)
    assert found == (1, 2)
    assert {type(number) for number in found} == {int}


@pytest.mark.usefixtures("as_in_use")
@pytest.mark.parametrize("value", [0.5, 1.0, "1", None, True, float("nan"), torch.tensor(1.0)])
def test_no_index(value):
    # A float was cut off to a whole number, or broke down far below.
    with pytest.raises(ConfigError, match="head must be 0 to 2; got "):
        require_head(0, value, num_layers=2, num_heads=3)


@pytest.mark.usefixtures("as_in_use")
@pytest.mark.parametrize("value", [-1, 1 << 63, 1.5, "a", None, True])
def test_no_seed(value):
    with pytest.raises(ConfigError, match=r"seed must be a whole number of 0 to 2\*\*63 - 1; got"):
        require_seed(value)


def test_numbers():
    assert all(map(is_number, (0, -1.5, 10**300)))
    assert not any(map(is_number, (True, "1", None, float("nan"), float("inf"), 10**400)))


def test_size_beyond_every_machine_is_refused():
    require_size("size", LARGEST)
    with pytest.raises(ConfigError, match=r"size must be at most 1099511627776; got 1099511627777"):
        require_size("size", LARGEST + 1)


@pytest.mark.usefixtures("as_in_use")
@pytest.mark.parametrize("value", ["x" * 10_000, list(range(10_000)), 10**4_000])
def test_long_value_is_cut(value):
    with pytest.raises(ConfigError) as error:
        require_size("size", value)
    assert len(str(error.value)) < 150
    assert str(error.value).endswith("….")
