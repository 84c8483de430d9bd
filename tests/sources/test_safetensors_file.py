import json

import pytest
import torch
from safetensors.torch import save_file

from attention.errors import ModelError
from attention.sources.safetensors_file import check_index, read_index, read_safetensors

DTYPES = [
    torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int8,
    torch.uint8, torch.bool, torch.float8_e4m3fn, torch.float8_e5m2, torch.uint16, torch.complex64,
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_header_tells_shape_dtype_and_size(dtype, tmp_path):
    tensor = torch.ones(3, 5).to(dtype)
    save_file({"a": tensor}, tmp_path / "m.safetensors")
    entry = read_safetensors(tmp_path / "m.safetensors")["a"]
    assert entry.shape == (3, 5)
    assert entry.dtype == str(dtype).removeprefix("torch.")
    assert entry.num_bytes == tensor.numel() * tensor.element_size()
    assert torch.equal(entry.read().to(torch.complex64), tensor.to(torch.complex64))


def test_scalar_has_no_axes(tmp_path):
    save_file({"a": torch.tensor(2.5)}, tmp_path / "m.safetensors")
    entry = read_safetensors(tmp_path / "m.safetensors")["a"]
    assert (entry.shape, entry.num_bytes, entry.read().item()) == ((), 4, 2.5)


def test_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ModelError, match=r"must hold m\.safetensors; it does not"):
        read_safetensors(tmp_path / "m.safetensors")


@pytest.mark.parametrize("content", [b"", b"x", b"\xff" * 64, b"{}" + b" " * 40])
def test_other_file_is_refused(content, tmp_path):
    (tmp_path / "m.safetensors").write_bytes(content)
    with pytest.raises(ModelError, match=r"must be a whole safetensors file; .* Fetch or save it"):
        read_safetensors(tmp_path / "m.safetensors")


# ------------------------------------------------------------------ the index of shards


def index(folder, places):
    path = folder / "model.safetensors.index.json"
    path.write_text(json.dumps({"metadata": {}, "weight_map": places}))
    return path


def test_shards_are_given_in_order_each_once(tmp_path):
    for name in ("b", "a"):
        (tmp_path / name).touch()
    assert read_index(index(tmp_path, {"x": "b", "y": "a", "z": "b"})) == [
        tmp_path / "a",
        tmp_path / "b",
    ]


def test_missing_shard_is_named_and_the_others_counted(tmp_path):
    (tmp_path / "b").touch()
    path = index(tmp_path, {"x": "a", "y": "b", "z": "c"})
    with pytest.raises(
        ModelError, match=r"must hold a, which model.* 2 of its 3 shards are missing"
    ):
        read_index(path)


@pytest.mark.parametrize("file", ["../a", "/etc/passwd", "inner/a"])
def test_shard_in_another_folder_is_refused(file, tmp_path):
    with pytest.raises(ModelError, match="must name files of its own folder; got"):
        read_index(index(tmp_path, {"x": file}))


@pytest.mark.parametrize("places", [None, {}, [1], "a"])
def test_index_of_nothing_is_refused(places, tmp_path):
    with pytest.raises(ModelError, match="must name a file for each weight under weight_map"):
        read_index(index(tmp_path, places))


def test_weight_that_its_shard_lacks_is_named(tmp_path):
    path = index(tmp_path, {"x": "a", "y": "b"})
    with pytest.raises(ModelError, match=r"b must hold y, as .* says; it does not \(1 such"):
        check_index(path, {"x": 1})
