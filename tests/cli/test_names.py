import pytest
from click.testing import CliRunner

from attention.cli.bench import bench
from attention.cli.names import parse_names
from attention.cli.trace import trace
from attention.implementations import IMPLEMENTATIONS


@pytest.mark.parametrize("command", [bench, trace])
def test_help_names_every_implementation(command):
    said = " ".join(CliRunner().invoke(command, ["--help"]).output.split())
    assert f"Names: {', '.join(IMPLEMENTATIONS)}." in said


def test_name_given_twice_counts_once():
    assert parse_names("looped, batched,looped") == ("looped", "batched")
