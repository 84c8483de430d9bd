import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from attention.cli.trace import trace
from attention.errors import HeadscopeError

SMALL = ["--heads", "3", "--d-out", "15", "--seq-len", "11", "--threads", "1"]


def run(*arguments):
    return CliRunner().invoke(trace, [*SMALL, *arguments])


def test_each_implementation_is_traced_and_written_for_a_viewer(tmp_path):
    result = run("--implementations", "looped, batched", "--perfetto", str(tmp_path))
    assert result.exit_code == 0, result.exception
    assert "3 heads, head_dim 5, seq_len 11" in result.output
    assert "No two heads run at once" in result.output
    assert "Batch dispatches" in result.output
    for name in ("looped", "batched"):
        assert json.loads((tmp_path / f"{name}.json").read_text())["traceEvents"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--implementations", "loop"], "implementation must be one of"),
        (["--heads", "4"], "d_out must be divisible by num_heads"),
        (["--perfetto", "/missing/folder"], "perfetto must be a folder that exists"),
        (["--device", "cuda:7"], "device must be"),
    ],
)
def test_bad_input_is_one_sentence(arguments, sentence):
    result = run(*arguments)
    assert isinstance(result.exception, HeadscopeError), result.exception
    assert str(result.exception).startswith(sentence)


def test_one_that_cannot_be_computed_leaves_the_others():
    # The first that could not be ended the command.
    result = run("--implementations", "streams,looped,looped")
    assert result.exit_code == 0, result.exception
    assert "device of streams must be cuda" in result.output
    assert result.output.count("Loop dispatches") == 1  # named twice, traced once


def test_nothing_traced_is_a_refusal():
    result = run("--implementations", "streams")
    assert str(result.exception).startswith("at least one implementation must be traced")


def test_folder_that_takes_no_file_is_refused_before_anything_is_traced():
    # A traceback, after the first trace.
    if not Path("/proc").is_dir():
        pytest.skip("no folder here that takes no file, whoever asks")
    result = run("--perfetto", "/proc")
    assert isinstance(result.exception, HeadscopeError), result.exception
    assert str(result.exception).startswith("file must be writable; got '/proc/looped.json'")
    assert result.output == ""
