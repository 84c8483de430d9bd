"""Every entry of the table says what settings, page and command line need to know of it."""

from typing import get_args

import pytest

from attention.benchmark.passes import PASSES
from attention.benchmark.settings import Passes
from attention.cli.bench import bench
from components.state import ENTRIES


def test_settings_command_line_and_address_offer_the_passes_of_the_table():
    [option] = [option for option in bench.params if option.name == "passes"]
    assert list(PASSES) == list(get_args(Passes)) == list(option.type.choices)
    for name in PASSES:
        assert ENTRIES["passes"].read(name) == name


@pytest.mark.parametrize("name", PASSES)
def test_entry_is_listed_under_its_own_name_and_described(name):
    entry = PASSES[name]
    assert entry.name == name
    assert entry.summary.endswith(".")
    assert "{}" in entry.tokens


def test_entries_differ_in_words():
    for field in ("title", "summary", "unit"):
        assert len({getattr(entry, field) for entry in PASSES.values()}) == len(PASSES)
