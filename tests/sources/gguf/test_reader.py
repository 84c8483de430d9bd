import struct

import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType, GGUFReader, GGUFWriter, quants
from gguf.constants import GGML_QUANT_SIZES

from attention.errors import ModelError
from attention.sources import open_checkpoint
from attention.sources.gguf import ARCHITECTURES, reader
from attention.sources.gguf.reader import read_gguf
from tests.sources.gguf.files import llama_facts, llama_tensors, rows, write_gguf

WRITTEN = ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "BF16")
READ_ONLY = ("Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS")


def file_of(path, data, kind):
    writer = GGUFWriter(str(path), "llama")
    writer.add_tensor("x", data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


# ------------------------------------------------------------------ numbers


@pytest.mark.parametrize("name", WRITTEN)
def test_quantised_tensor_is_multiplied_out(name, tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "AT_ONCE", 3 * 256)  # in several goes
    kind = GGMLQuantizationType[name]
    weights = rows(11, 256).numpy()
    data = quants.quantize(weights, kind)
    entry = read_gguf(file_of(tmp_path / "m.gguf", data, kind)).tensors["x"]
    expected = torch.from_numpy(quants.dequantize(data, kind)).reshape(11, 256)
    torch.testing.assert_close(entry.read(), expected, rtol=0, atol=0)
    torch.testing.assert_close(entry.read(), torch.from_numpy(weights), rtol=0, atol=0.5)
    assert (entry.shape, entry.num_bytes) == ((11, 256), data.nbytes)
    assert entry.dtype == {"BF16": "bfloat16"}.get(name, name)


@pytest.mark.parametrize("name", READ_ONLY)
def test_quantised_in_ways_that_can_only_be_read(name, tmp_path):
    kind = GGMLQuantizationType[name]
    block, size = GGML_QUANT_SIZES[kind]
    data = np.random.default_rng(5).integers(0, 50, (7, 256 // block * size), dtype=np.uint8)
    entry = read_gguf(file_of(tmp_path / "m.gguf", data, kind)).tensors["x"]
    expected = torch.from_numpy(quants.dequantize(data, kind))
    torch.testing.assert_close(entry.read(), expected, rtol=0, atol=0)
    assert entry.shape == (7, 256)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64])
def test_plain_floats_stay_what_they_are(dtype, tmp_path):
    tensor = rows(3, 5, 7).to(dtype)
    entry = read_gguf(write_gguf(tmp_path / "m.gguf", "llama", {}, {"x": tensor})).tensors["x"]
    torch.testing.assert_close(entry.read(), tensor, rtol=0, atol=0)
    assert (entry.shape, entry.dtype) == ((3, 5, 7), str(dtype).removeprefix("torch."))


def test_type_that_nothing_multiplies_out_is_refused(tmp_path):
    path = write_gguf(tmp_path / "m.gguf", "llama", {}, {"x": torch.ones(3, 5, dtype=torch.int32)})
    with pytest.raises(ModelError, match=r"x in .* must be in a type that can be .* got I32"):
        read_gguf(path)


# ------------------------------------------------------------------ metadata


def test_metadata_is_what_the_package_reads_in_its_own_slow_way(tmp_path):
    writer = GGUFWriter(str(tmp_path / "m.gguf"), "llama")
    writer.add_array("words", ["a", "", "Ġthe", "é" * 300])
    writer.add_array("numbers", [1, -2, 3])
    writer.add_array("floats", [0.5, -1.25])
    writer.add_array("switches", [True, False])
    writer.add_key_value("one", 5, 4)
    writer.add_string("text", "çà")
    writer.add_tensor("x", np.ones((2, 3), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    theirs = GGUFReader(tmp_path / "m.gguf")
    expected = {name: field.contents() for name, field in theirs.fields.items()}
    assert read_gguf(tmp_path / "m.gguf").facts == expected


# ------------------------------------------------------------------ broken files


@pytest.mark.parametrize("kept", [0, 3, 4, 10, 24, 60, 300, 900, 2000, -1])
def test_file_that_is_cut_short_is_one_sentence(kept, tmp_path):
    path = write_gguf(tmp_path / "m.gguf", "llama", llama_facts(), llama_tensors())
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ModelError, match=r"must be a whole GGUF file; it cannot be read: .* Fetch"):
        read_gguf(path)


@pytest.mark.parametrize("kind", [8, 4])  # texts, numbers
def test_row_longer_than_the_file_is_refused(kind, tmp_path):
    name = b"row"
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", len(name)) + name
    (tmp_path / "m.gguf").write_bytes(head + struct.pack("<IIQ", 9, kind, 1 << 40) + b"x" * 40)
    with pytest.raises(ModelError, match="must be a whole GGUF file"):
        read_gguf(tmp_path / "m.gguf")


@pytest.mark.parametrize("content", [b"no such thing", b"GGUF" + b"\xff" * 64])
def test_other_file_is_refused(content, tmp_path):
    (tmp_path / "m.gguf").write_bytes(content)
    with pytest.raises(ModelError, match="must be a whole GGUF file; it cannot be read"):
        open_checkpoint(str(tmp_path / "m.gguf"))


def test_other_architecture_is_refused_by_name(tmp_path):
    path = write_gguf(tmp_path / "m.gguf", "mamba", {}, {"x": rows(2)})
    with pytest.raises(ModelError, match=r"must be one of llama, .*gptneox; got 'mamba'"):
        open_checkpoint(str(path))


@pytest.mark.parametrize("parts", [3, "x", float("nan"), [1, 2]])
def test_one_of_several_parts_is_refused(parts, tmp_path):
    writer = GGUFWriter(str(tmp_path / "m.gguf"), "llama")
    add = {int: writer.add_uint32, str: writer.add_string, float: writer.add_float32}
    add.get(type(parts), writer.add_array)("split.count", parts)
    writer.add_tensor("x", rows(2).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(ModelError, match="must be a whole model; it is one of several parts"):
        open_checkpoint(str(tmp_path / "m.gguf"))


def test_every_architecture_says_what_it_makes():
    assert {"llama", "qwen2", "qwen3", "gpt2", "gptneox"} == set(ARCHITECTURES)
