import numpy as np
import pytest

from attention.cli import files, main
from attention.record import RunRecord
from tests.builders import assert_arrays_close

TEXT = "Seán the cat\n the cat"  # 11 tokens; 300 logits each


def loaded(path):
    with np.load(path, allow_pickle=False) as archive:
        return dict(archive)


@pytest.mark.parametrize("numbers", [1, 30, 299, 300, 601, 3000])
def test_file_is_the_same_in_whatever_blocks_it_is_written(
    model_folder, tmp_path, monkeypatch, numbers
):
    # All logits, and a head's whole pattern, were once in memory twice.
    whole, parts = tmp_path / "whole.npz", tmp_path / "parts.npz"
    run = ["run", "--model", model_folder, "--text", TEXT, "--out"]
    main([*run, str(whole)])
    asked = []
    for name in ("pattern", "logits_at"):
        read = getattr(RunRecord, name)
        monkeypatch.setattr(
            RunRecord,
            name,
            lambda self, *which, read=read: asked.append(read(self, *which)) or asked[-1],
        )
    monkeypatch.setattr(files, "BLOCK", numbers)
    main([*run, str(parts)])
    assert all(len(found) == 1 or found.shape[0] * found.shape[1] <= numbers for found in asked)
    first, second = loaded(whole), loaded(parts)
    assert list(first) == list(second)
    for name, array in first.items():
        if array.dtype.kind == "f":
            assert_arrays_close(second[name], array)
        else:
            np.testing.assert_array_equal(second[name], array)
