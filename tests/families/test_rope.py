"""How a config.json tells rotary positions."""

import pytest

from attention.errors import ModelError
from attention.families.rope import read_rope
from attention.rotary import Rope

NAMES = {"theta_name": "base", "share_name": "pct", "share": 0.5}


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, Rope(theta=10_000.0, rotary_dim=10)),
        ({"base": 500, "pct": 0.3}, Rope(theta=500.0, rotary_dim=6)),
        ({"base": None, "pct": 1.0}, Rope(theta=10_000.0)),
        ({"base": 1, "rope_parameters": {"rope_theta": 7.0}}, Rope(theta=7.0, rotary_dim=10)),
        ({"rope_parameters": {"partial_rotary_factor": 1}, "pct": 0.3}, Rope()),
        ({"rope_scaling": {"type": "default"}, "base": 3}, Rope(theta=3.0, rotary_dim=10)),
        ({"rope_scaling": None, "rope_parameters": {}}, Rope(theta=10_000.0, rotary_dim=10)),
    ],
)
def test_it_is_read_from_both_places(config, expected):
    assert read_rope(config, 20, **NAMES) == expected


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"base": 0}, "base in config.json must be a number above 0; got 0"),
        ({"base": "1e4"}, "base in config.json must be a number above 0"),
        ({"pct": 0.25}, "pct must turn an even number of the 20 features of a head; got 0.25"),
        ({"pct": 0.04}, "pct must turn an even number"),
        ({"pct": 1.2}, "pct must turn an even number"),
        ({"pct": "half"}, "pct must turn an even number"),
        ({"rope_parameters": 3}, "rope_parameters must be an object; got 3"),
    ],
)
def test_what_is_none_is_refused(config, message):
    with pytest.raises(ModelError, match=message):
        read_rope(config, 20, **NAMES)


def test_unknown_stretching_is_refused_by_name():
    for name, key in (("rope_scaling", "type"), ("rope_parameters", "rope_type")):
        with pytest.raises(ModelError, match=r"rope_type must be .*; got 'unheard'"):
            read_rope({name: {key: "unheard", "factor": 2.0}}, 20)
