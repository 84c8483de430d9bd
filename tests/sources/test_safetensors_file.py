import json
from pathlib import Path

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


@pytest.mark.parametrize("name", ["F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"])
def test_narrow_dtypes_are_told_by_their_names(name, tmp_path):
    # They went for what a GGUF file multiplies out: shown without the factors that belong to them.
    wide = torch.zeros(3, 5, dtype=torch.float8_e4m3fn)
    save_file({"a": wide}, tmp_path / "m.safetensors")
    content = (tmp_path / "m.safetensors").read_bytes().replace(b'"F8_E4M3"', f'"{name}"'.encode())
    header = content[8 : content.index(b"}}") + 2]
    size = len(header).to_bytes(8, "little")
    (tmp_path / "m.safetensors").write_bytes(size + header + bytes(15))
    dtype = read_safetensors(tmp_path / "m.safetensors")["a"].dtype
    assert isinstance(getattr(torch, dtype), torch.dtype)


def test_dtype_that_torch_does_not_have_is_refused(tmp_path):
    header = b'{"a":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[0,3]}}'
    (tmp_path / "m.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(3))
    with pytest.raises(ModelError, match=r"a in .* must be in a dtype such as F32.* got F6_E2M3"):
        read_safetensors(tmp_path / "m.safetensors")


def test_pointer_of_git_lfs_is_told_from_the_file_itself(tmp_path):
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 5\n"
    (tmp_path / "m.safetensors").write_text(pointer)
    with pytest.raises(ModelError, match=r"it is a pointer to it, of git-lfs\. Run `git lfs pull`"):
        read_safetensors(tmp_path / "m.safetensors")


def test_file_of_somebody_else_is_one_sentence(tmp_path, monkeypatch):
    def refused(*_, **__):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "m.safetensors").touch()
    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(ModelError, match=r"m\.safetensors must be readable; it is not: Permission"):
        read_safetensors(tmp_path / "m.safetensors")


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
    for name in ("b.bin", "a.bin"):
        (tmp_path / name).touch()
    assert read_index(index(tmp_path, {"x": "b.bin", "y": "a.bin", "z": "b.bin"})) == [
        tmp_path / "a.bin",
        tmp_path / "b.bin",
    ]


def test_missing_shard_is_named_and_the_others_counted(tmp_path):
    (tmp_path / "b.pt").touch()
    path = index(tmp_path, {"x": "a.pt", "y": "b.pt", "z": "c.pt"})
    with pytest.raises(
        ModelError, match=r"must hold a.pt, which model.* 2 of its 3 shards are missing"
    ):
        read_index(path)


@pytest.mark.parametrize("file", ["../a.bin", "/etc/x.pt", "inner/a.bin", "..", ""])
def test_shard_in_another_folder_is_refused(file, tmp_path):
    with pytest.raises(ModelError, match="must name files of weights in its own folder"):
        read_index(index(tmp_path, {"x": file}))


@pytest.mark.parametrize("file", ["model.safetensors.index.json", "config.json", "x" * 999 + ".pt"])
def test_shard_that_can_be_none_is_refused(file, tmp_path):
    # An index that names itself was read without end; a name that is too long broke down.
    path = index(tmp_path, {"x": file})
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelError, match="must name files of weights in its own folder") as error:
        read_index(path)
    assert len(str(error.value)) < len(str(path)) + 200


@pytest.mark.parametrize("places", [None, {}, [1], "a"])
def test_index_of_nothing_is_refused(places, tmp_path):
    with pytest.raises(ModelError, match="must name a file for each weight under weight_map"):
        read_index(index(tmp_path, places))


def test_weight_that_its_shard_lacks_is_named(tmp_path):
    path = index(tmp_path, {"x": "a", "y": "b"})
    with pytest.raises(ModelError, match=r"b must hold y, as .* says; it does not \(1 such"):
        check_index(path, {"x": 1})
