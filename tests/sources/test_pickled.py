import os
import pickle
import zipfile

import pytest
import torch
from torch import nn

from attention.errors import ModelError
from attention.sources.pickled import read_pickle, tensors_of

TENSORS = {"a": torch.arange(15.0).reshape(3, 5), "b": torch.ones(7)}


class Evil:
    """Runs a command when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def saved(folder, found, **how):
    path = folder / "model.pt"
    torch.save(found, path, **how)
    return path


@pytest.mark.parametrize("zipped", [True, False])
def test_tensors_and_plain_values_are_read(zipped, tmp_path):
    plain = {"size": 3, "rate": 0.5, "name": "x", "none": None, "yes": True, "list": [1, 2]}
    path = saved(
        tmp_path,
        {"model": TENSORS, "config": plain},
        _use_new_zipfile_serialization=zipped,
    )
    found = read_pickle(path)
    assert found["config"] == plain
    torch.testing.assert_close(found["model"], TENSORS)


def test_prefixes_are_dropped_at_the_top_and_one_below(tmp_path):
    compiled = {f"_orig_mod.{name}": tensor for name, tensor in TENSORS.items()}
    assert set(read_pickle(saved(tmp_path, compiled))) == {"a", "b"}
    assert set(read_pickle(saved(tmp_path, {"model": compiled, "n": 1}))["model"]) == {"a", "b"}


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
@pytest.mark.parametrize("how", ["zip", "legacy", "plain"])
def test_code_in_a_pickle_is_refused_and_not_run(how, tmp_path):
    mark, path = tmp_path / "was-run", tmp_path / "model.pt"
    found = {"a": torch.ones(3), "b": Evil(mark)}
    if how == "plain":
        path.write_bytes(pickle.dumps(found))
    else:
        torch.save(found, path, _use_new_zipfile_serialization=how == "zip")
    with pytest.raises(ModelError, match="must hold tensors and plain values only") as error:
        read_pickle(path)
    assert not mark.exists()
    assert "nothing in it was opened. Save model.state_dict() alone." in str(error.value)
    assert "\n" not in str(error.value)
    if how != "plain":
        assert "it asks for posix.mkdir" in str(error.value)


def test_whole_module_is_refused_by_its_class(tmp_path):
    with pytest.raises(ModelError, match=r"it asks for torch\.nn\.modules\.linear\.Linear"):
        read_pickle(saved(tmp_path, nn.Linear(3, 5)))


@pytest.mark.filterwarnings("ignore:`torch.jit")
def test_script_is_refused(tmp_path):
    path = tmp_path / "model.pt"
    torch.jit.save(torch.jit.script(nn.Linear(3, 5)), path)
    with pytest.raises(ModelError, match="it is a TorchScript archive, which holds code"):
        read_pickle(path)


@pytest.mark.parametrize("kept", [0, 3, 100, 700, -1])
def test_file_that_is_cut_short_is_one_sentence(kept, tmp_path):
    path = saved(tmp_path, TENSORS)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ModelError, match=r"must (be a whole|hold tensors and)") as error:
        read_pickle(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", [b"no such thing" * 9, b"PK\x03\x04" + b"x" * 90, b"\x80\x02}"])
def test_other_file_is_one_sentence(content, tmp_path):
    (tmp_path / "model.pt").write_bytes(content)
    with pytest.raises(ModelError, match=r"must (be a whole|hold tensors and)") as error:
        read_pickle(tmp_path / "model.pt")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("found", [[1, 2], torch.ones(3), "text"])
def test_object_that_names_no_tensors_is_refused(found, tmp_path):
    with pytest.raises(ModelError, match="must hold tensors by name; it holds"):
        read_pickle(saved(tmp_path, found))


@pytest.mark.filterwarnings("ignore:.*torch.jit.script")
def test_script_is_refused_in_one_sentence(tmp_path):
    torch.jit.script(nn.Linear(3, 5)).save(str(tmp_path / "model.pt"))
    with pytest.raises(ModelError) as error:
        read_pickle(tmp_path / "model.pt")
    assert "it is a TorchScript archive, which holds code. Save model.state_dict()." in str(
        error.value
    )
    assert "cannot be read" not in str(error.value)


def test_archive_that_was_packed_again_is_refused(tmp_path):
    # Mapped into memory, compressed numbers were taken for numbers.
    path = saved(tmp_path, TENSORS)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    with pytest.raises(ModelError, match=r"it was packed again.* Unpack it, or save it again\."):
        read_pickle(path)


@pytest.mark.filterwarnings("ignore:.*(sparse|Sparse|nested|CSR)")
@pytest.mark.parametrize("key", [None, "model"])
@pytest.mark.parametrize(
    "change",
    [
        torch.Tensor.to_sparse,
        torch.Tensor.to_sparse_csr,
        lambda tensor: tensor.to("meta"),
        lambda tensor: torch.nested.nested_tensor([tensor, tensor[:2]]),
    ],
    ids=["sparse", "csr", "meta", "nested"],
)
def test_tensor_whose_numbers_are_not_all_there_is_named(change, key, tmp_path):
    tensors = {**TENSORS, "odd": change(torch.ones(3, 5))}
    path = saved(tmp_path, tensors if key is None else {key: tensors})
    with pytest.raises(ModelError, match=r"odd in .* must be a plain tensor; .* `\.to_dense\(\)`"):
        read_pickle(path)


# ------------------------------------------------------------------ where the config is known


@pytest.mark.parametrize("key", [None, "state_dict", "model_state_dict", "model"])
def test_tensors_are_found_where_trainers_put_them(key, tmp_path):
    path = saved(tmp_path, TENSORS if key is None else {key: TENSORS, "epoch": 3})
    found = tensors_of(read_pickle(path), path)
    torch.testing.assert_close(dict(found), TENSORS)


def test_parameters_count_as_tensors(tmp_path):
    path = saved(tmp_path, {"a": nn.Parameter(torch.ones(3))})
    assert not tensors_of(read_pickle(path), path)["a"].requires_grad


def test_object_without_tensors_is_refused(tmp_path):
    path = saved(tmp_path, {"epoch": 3})
    with pytest.raises(ModelError, match="must hold tensors by name; it holds none"):
        tensors_of(read_pickle(path), path)


def test_value_among_the_tensors_is_named(tmp_path):
    path = saved(tmp_path, {**TENSORS, "step": 3})
    with pytest.raises(ModelError, match=r"step in .* must be a tensor; got int"):
        tensors_of(read_pickle(path), path)
