import pytest

from attention.errors import (
    ConfigError,
    DeviceError,
    HeadscopeError,
    ModelError,
    TextError,
    require_choice,
    require_head,
    require_positive,
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
