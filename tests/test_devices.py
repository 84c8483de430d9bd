import dataclasses

import pytest
import torch

from attention import devices as module_under_test
from attention.devices import DTYPES, Device, available_devices, find_device
from attention.errors import ConfigError, DeviceError


def cpu_and(*others):
    return lambda: (Device("cpu", "cpu", "CPU", ("float32",)), *others)


def test_cpu_comes_first_and_computes_in_float32():
    cpu = available_devices()[0]
    assert (cpu.name, cpu.kind, cpu.available, cpu.why_not) == ("cpu", "cpu", True, None)
    assert cpu.dtypes[0] == "float32"
    assert set(cpu.dtypes) <= set(DTYPES)


def test_every_kind_of_device_is_listed_and_the_absent_say_why():
    devices = available_devices()
    assert [device.kind for device in devices if device.kind != "cuda"] == ["cpu", "mps"]
    assert any(device.kind == "cuda" for device in devices)
    for device in devices:
        assert device.available == (device.why_not is None)
        assert device.available == bool(device.dtypes)
    assert len({device.name for device in devices}) == len(devices)


def test_list_belongs_to_who_asked_for_it():
    available_devices().clear()
    assert available_devices()


def test_devices_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        available_devices()[0].why_not = "no"


@pytest.mark.parametrize(
    ("built_for", "why_not"),
    [(None, "this build of torch has no CUDA"), ("13.0", "no CUDA device or driver is found")],
)
def test_reason_tells_a_missing_build_from_a_missing_device(monkeypatch, built_for, why_not):
    monkeypatch.setattr(torch.version, "cuda", built_for)
    monkeypatch.setattr(torch.version, "hip", None)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    [device] = module_under_test._cuda_devices()
    assert (device.name, device.why_not) == ("cuda", why_not)


def test_each_cuda_device_has_a_line_of_its_own(monkeypatch):
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda name: f"GPU {name}")
    monkeypatch.setattr(module_under_test, "_working_dtypes", lambda _: ("float32",))
    found = [(d.name, d.title) for d in module_under_test._cuda_devices()]
    assert found == [("cuda:0", "GPU cuda:0"), ("cuda:1", "GPU cuda:1")]


@pytest.mark.parametrize(
    ("built", "why_not"),
    [(False, "this build of torch has no MPS"), (True, "no Apple GPU is found")],
)
def test_reason_tells_a_build_without_mps_from_a_machine_without(monkeypatch, built, why_not):
    monkeypatch.setattr(torch.backends.mps, "is_built", lambda: built)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert module_under_test._mps_device().why_not == why_not


def test_dtype_whose_kernels_are_missing_is_left_out(monkeypatch):
    def ones(*_, dtype, **__):
        if dtype == torch.float16:
            raise RuntimeError('"softmax" not implemented for Half')
        return torch.zeros(1, 1, 2, 4, dtype=dtype)

    monkeypatch.setattr(module_under_test.torch, "ones", ones)
    assert module_under_test._working_dtypes("cpu") == ("float32", "bfloat16")


# ------------------------------------------------------------------ finding one


def test_kind_alone_is_the_first_of_its_kind(monkeypatch):
    two = [Device(f"cuda:{i}", "cuda", "GPU", ("float32",)) for i in range(2)]
    monkeypatch.setattr(module_under_test, "_devices", cpu_and(*two))
    assert find_device("cuda").name == "cuda:0"
    assert find_device("cuda:1").name == "cuda:1"


def test_absent_cuda_is_refused_with_the_reason_and_what_can_be_used(monkeypatch):
    absent = Device("cuda", "cuda", "CUDA", why_not="no CUDA device or driver is found")
    monkeypatch.setattr(module_under_test, "_devices", cpu_and(absent))
    with pytest.raises(DeviceError) as error:
        find_device("cuda")
    assert str(error.value) == (
        "device cuda cannot be used here: no CUDA device or driver is found. Usable here: cpu."
    )


@pytest.mark.parametrize("name", ["gpu", "", "cuda:99", "CPU"])
def test_unknown_device_is_refused_with_those_there_are(name):
    with pytest.raises(DeviceError, match=f"device must be one of cpu, .* got '{name}'"):
        find_device(name)


def test_dtype_that_the_device_lacks_is_refused(monkeypatch):
    monkeypatch.setattr(module_under_test, "_devices", cpu_and())
    with pytest.raises(DeviceError, match="dtype must be one of float32 on cpu; got bfloat16"):
        find_device("cpu", "bfloat16")


def test_unknown_dtype_is_refused_with_the_choices():
    with pytest.raises(ConfigError, match="float32, bfloat16, float16; got 'int8'"):
        find_device("cpu", "int8")
