"""Configs like those of published models, and how many parameters these are known to have."""

import json
from pathlib import Path

import pytest

from attention.families import find_family
from attention.sizes import num_parameters

FILE = Path(__file__).with_name("published.json")
PUBLISHED = json.loads(FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_config_is_read_and_gives_as_many_parameters(name):
    config = PUBLISHED[name]["config"]
    read = find_family(config["model_type"]).read_config(config)
    assert num_parameters(read) == PUBLISHED[name]["parameters"]
