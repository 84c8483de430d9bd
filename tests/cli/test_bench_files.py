from contextlib import contextmanager
from pathlib import Path

import pytest

from attention.benchmark import BenchmarkSettings
from attention.benchmark.measurement import Measurement
from attention.cli.bench_files import Files
from attention.cli.files import whole_file
from attention.errors import HeadscopeError

SETTINGS = BenchmarkSettings(heads=(1,), d_out=15, implementations=("looped",))
POINT = Measurement(
    implementation="looped", num_heads=1, head_dim=15, d_out=15, samples=(2.0,), equal=True
)


def test_file_name_that_is_too_long_is_one_sentence(tmp_path):
    with pytest.raises(HeadscopeError, match="file must be writable; "):
        Files(tmp_path / ("x" * 300), None).check()


def test_folder_that_takes_no_file_is_refused_before_anything_is_measured():
    # It was found out after an hour of measuring.
    if not Path("/proc").is_dir():
        pytest.skip("no folder here that takes no file, whoever asks")
    with pytest.raises(HeadscopeError, match=r"file must be writable; got '/proc/b.json'"):
        Files(Path("/proc/b.json"), None).check()


def test_folder_is_no_file(tmp_path):
    with pytest.raises(HeadscopeError, match="file must be a file; got the folder"):
        Files(tmp_path, None).check()


def test_two_results_in_one_file_are_refused(tmp_path):
    # The table took the place of everything else.
    path = tmp_path / "b"
    with pytest.raises(HeadscopeError, match="another one for each kind"):
        Files(path, path.parent / "." / "b").check()


def test_check_leaves_nothing_behind(tmp_path):
    Files(tmp_path / "b.json", tmp_path / "b.csv").check()
    assert list(tmp_path.iterdir()) == []


def test_file_that_fails_does_not_cost_the_others(tmp_path):
    missing = tmp_path / "gone" / "b.json"
    with pytest.raises(HeadscopeError, match="file must be writable"):
        Files(missing, tmp_path / "b.csv").write(SETTINGS, [POINT])
    assert (tmp_path / "b.csv").read_text(encoding="utf-8").startswith("num_heads,")


def test_what_was_there_stays_where_there_is_no_room(tmp_path, monkeypatch):
    path = tmp_path / "b.csv"
    path.write_text("an hour's work", encoding="utf-8")

    @contextmanager
    def full(path):
        with whole_file(path) as file:
            file.write(b"half of it")
            raise OSError(28, "No space left on device")
        yield

    monkeypatch.setattr("attention.cli.bench_files.whole_file", full)
    with pytest.raises(HeadscopeError, match="No space left on device"):
        Files(None, path).write(SETTINGS, [POINT])
    assert path.read_text(encoding="utf-8") == "an hour's work"
    assert list(tmp_path.iterdir()) == [path]
