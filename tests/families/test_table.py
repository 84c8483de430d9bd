"""The page of docs on families, held to the table."""

import re
from pathlib import Path

import pytest

from attention.families import FAMILIES, attention_only

PAGE = (Path(__file__).parents[2] / "docs" / "families.md").read_text(encoding="utf-8")
FEATURES = PAGE.partition("## Features")[2].partition("\n## ")[0]
ROWS = [line for line in FEATURES.splitlines() if line.startswith("| ")][1:]
HELD_TO = re.compile(r"\| (`transformers`|a reference|the same)[^|]* \|$")


def rows_of_families():
    """The table's lines by the family that begins each group of them."""
    found = {}
    for row in ROWS:
        first = re.match(r"\| \*\*[^*]*\*\* `([^`]*)`", row)
        if first:
            name = first[1]
            assert name not in found, "a family has one group of lines"
            found[name] = []
        found[name].append(row)
    return found


LISTED = rows_of_families()


def test_every_family_is_on_the_page_but_our_own_format_which_nothing_else_reads():
    assert sorted([*LISTED, attention_only.NAME]) == sorted(FAMILIES)


@pytest.mark.parametrize("name", LISTED)
def test_each_feature_of_a_family_says_what_it_is_held_to(name):
    assert LISTED[name]
    assert [row for row in LISTED[name] if not HELD_TO.search(row)] == []
