"""What a config.json may say, in every family."""

import pytest
import torch

from attention.errors import ConfigError, ModelError
from attention.families.entries import (
    ACTIVATION_NAMES,
    NEUTRAL,
    UNUSED,
    Entries,
    activations,
    bos_of,
)
from attention.model_config import ACTIVATIONS
from tests.families.parity import close

ENTRIES = Entries(
    sizes=("width",),
    optional=("inner",),
    numbers={"eps": 0.1},
    options={"tied": (True, False), "alibi": (False, True)},
    apart=("rope",),
    unused=("dropout",),
)


@pytest.mark.parametrize("name", ACTIVATION_NAMES)
def test_an_activation_is_the_one_of_that_name_in_transformers(name):
    from transformers.activations import ACT2FN

    x = torch.linspace(-4, 4, 31)
    close(ACTIVATIONS[ACTIVATION_NAMES[name]](x), ACT2FN[name](x), name, 1.3e-6, 1e-6)


def test_missing_entries_have_the_value_that_holds_without_them():
    expected = {"width": 3, "eps": 0.1, "tied": True, "alibi": False}
    assert ENTRIES.read({"width": 3}) == expected
    assert ENTRIES.read({"width": 3, "eps": None, "tied": None, "inner": None}) == expected


def test_entries_that_are_there_hold():
    given = {"width": 3, "inner": 5, "eps": 1, "tied": False, "alibi": True}
    assert ENTRIES.read(given) == given


def test_entries_that_change_nothing_pass():
    given = dict.fromkeys((*UNUSED, "dropout", "rope", "task_specific_params"), "anything")
    assert ENTRIES.read({"width": 3, **given}).keys() >= given.keys()


@pytest.mark.parametrize("name", sorted(NEUTRAL))
def test_entries_of_other_families_are_refused_unless_they_change_nothing(name):
    known = name in ENTRIES.options
    for value in NEUTRAL[name]:
        assert ENTRIES.read({"width": 3, name: value})[name] == value
    with pytest.raises(ModelError, match=f"{name} must be .* to be shown right; got 7"):
        ENTRIES.read({"width": 3, name: 7})
    assert known == (name == "alibi")


@pytest.mark.parametrize("value", [0, -1, 1.5, "3", True, [3]])
@pytest.mark.parametrize("name", ["width", "inner"])
@pytest.mark.usefixtures("as_in_use")
def test_a_size_that_is_none_is_refused(name, value):
    with pytest.raises(ConfigError, match=f"{name} in config.json must be a whole number"):
        ENTRIES.read({"width": 3, name: value})


@pytest.mark.parametrize("value", [0, -1.0, "1", True, float("nan"), float("inf")])
def test_a_number_that_is_none_is_refused(value):
    with pytest.raises(ModelError, match=r"eps in config\.json must be a number above 0; got"):
        ENTRIES.read({"width": 3, "eps": value})


def test_the_usual_activation_comes_first_and_none_is_left_out():
    assert activations("relu")[0] == "relu"
    assert sorted(activations("relu")) == sorted(ACTIVATION_NAMES)


@pytest.mark.parametrize(
    ("value", "expected"), [(3, 3), (0, 0), (7, None), (-1, None), ([3], None)]
)
def test_a_first_token_outside_the_vocabulary_is_none(value, expected):
    assert bos_of({"bos_token_id": value}, 7) == expected
