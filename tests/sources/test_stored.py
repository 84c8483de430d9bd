import pytest
import torch

from attention.errors import ModelError
from attention.sources.stored import StoredTensor, StoredTensors, plain_names


def counting(shape, dtype="float32"):
    """A tensor that tells how often it was read."""
    reads = []

    def read():
        reads.append(1)
        return torch.ones(shape)

    return reads, StoredTensor(shape, dtype, 4 * torch.Size(shape).numel(), read)


def test_tensor_is_read_when_it_is_looked_up_and_not_before(as_in_use):
    reads, entry = counting((3, 5))
    tensors = StoredTensors({"a": entry})
    assert "a" in tensors
    assert "b" not in tensors
    assert (list(tensors), len(tensors), tensors.num_bytes) == (["a"], 1, 60)
    assert tensors.entries["a"].shape == (3, 5)
    assert reads == []
    torch.testing.assert_close(tensors["a"], torch.ones(3, 5))
    assert len(reads) == 1


def test_dtype_is_that_of_most_bytes():
    big, small = counting((7, 11), "Q4_1")[1], counting((3,))[1]
    assert StoredTensors({"a": small, "b": big, "c": small}).dtype == "Q4_1"
    assert StoredTensors({}).dtype == ""


def test_tensors_that_are_there_are_told_as_those_of_a_file():
    tensor = torch.zeros(3, 5, dtype=torch.bfloat16)
    entry = StoredTensors.of({"a": tensor}).entries["a"]
    assert (entry.shape, entry.dtype, entry.num_bytes) == ((3, 5), "bfloat16", 30)
    assert entry.read() is tensor


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["_orig_mod.a", "_orig_mod.b.c"], ["a", "b.c"]),
        (["module.a", "module.b"], ["a", "b"]),
        (["module._orig_mod.a"], ["a"]),
        (["_orig_mod.module.a"], ["a"]),
        (["blocks.0._orig_mod.a"], ["blocks.0.a"]),
        (["module.a", "b"], ["module.a", "b"]),  # a part of the model that has this name
        ([], []),
    ],
)
def test_prefixes_of_wrappers_are_dropped(names, expected):
    assert list(plain_names(dict.fromkeys(names, 1), "f")) == expected


def test_weight_under_two_prefixes_is_refused():
    with pytest.raises(ModelError, match="f must hold a once; it holds it under two prefixes"):
        plain_names({"_orig_mod.a": 1, "a": 2}, "f")
