import numpy as np
import pytest

from attention.errors import HeadscopeError
from attention.training.data import HELD_OUT_WINDOWS, split

LENGTH = 11


def write(path, count):
    np.arange(1, count + 1, dtype=np.uint16).tofile(path)
    return path


def test_the_end_of_each_text_is_held_out_behind_bos(tmp_path):
    files = {"a": write(tmp_path / "a.bin", 300), "b": write(tmp_path / "b.bin", 200)}
    data = split(files, {"a": 1.0, "b": 2.0}, vocab_size=307, length=LENGTH)
    size = HELD_OUT_WINDOWS * (LENGTH - 1)
    assert data.windows.shape == (2 * HELD_OUT_WINDOWS, LENGTH)
    assert (data.windows[:, 0] == 0).all()
    assert data.held_out["a"][:, 1:].flatten().tolist() == list(range(301 - size, 301))
    assert data.texts.parts[0].tolist() == list(range(1, 301 - size))


def test_a_text_too_short_to_split_is_told(tmp_path):
    files = {"a": write(tmp_path / "a.bin", 159)}
    with pytest.raises(HeadscopeError, match="a must have at least 160 tokens; got 159"):
        split(files, {"a": 1.0}, vocab_size=307, length=LENGTH)
