import pytest
import torch

from attention import memory
from attention.errors import DeviceError
from attention.memory import (
    as_text,
    free_memory,
    memory_errors_as_sentences,
    require_free,
    require_room,
)

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB."),
        RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory"),
        RuntimeError("Storage size calculation overflowed with sizes=[1099511627776, 1 << 30]"),
    ],
)
def test_every_way_to_run_out_of_memory_is_one_sentence(error):
    with (
        pytest.raises(DeviceError, match="memory of cpu must be enough"),
        memory_errors_as_sentences(CPU),
    ):
        raise error


def test_real_allocation_that_cannot_be_had_is_one_sentence():
    with pytest.raises(DeviceError, match="ran out"), memory_errors_as_sentences(CPU):
        torch.empty(1 << 50, dtype=torch.uint8)


def test_other_errors_are_let_through():
    with pytest.raises(RuntimeError, match="not about memory"), memory_errors_as_sentences(CPU):
        raise RuntimeError("not about memory")


def test_block_without_an_error_runs():
    with memory_errors_as_sentences(CPU):
        pass


# ------------------------------------------------------------------ how much is free


@pytest.fixture
def system(tmp_path, monkeypatch):
    """Files of a system that tells what a test writes into them."""
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "GROUP", tmp_path / "group")
    (tmp_path / "group").mkdir()
    (tmp_path / "meminfo").write_text("MemTotal: 900 kB\nMemAvailable:     500 kB\n")
    return tmp_path


def limit(system, most, *, used=300, cached=100):
    (system / "group" / "memory.max").write_text(f"{most}\n")
    (system / "group" / "memory.current").write_text(f"{used}\n")
    (system / "group" / "memory.stat").write_text(f"anon 5\ninactive_file {cached}\nslab 7\n")


def test_memory_that_the_system_can_give_is_free(system):
    assert free_memory() == 500 * 1024


@pytest.mark.parametrize(("most", "free"), [("max", 512_000), (1000, 800), (900_000, 512_000)])
def test_container_has_no_more_than_its_limit(most, free, system):
    limit(system, most)
    assert free_memory("cpu") == free


def test_container_that_is_full_has_nothing_left(system):
    limit(system, 100)
    assert free_memory() == 0


def test_system_that_tells_nothing_lets_every_model_pass(system, monkeypatch):
    (system / "meminfo").unlink()
    monkeypatch.delattr(memory.os, "sysconf")
    assert free_memory() is None
    require_room(10**18, "cpu", "x", "float32")


def test_system_without_meminfo_tells_what_it_has_in_all(system, monkeypatch):
    (system / "meminfo").unlink()
    monkeypatch.setattr(memory.os, "sysconf", {"SC_PHYS_PAGES": 7, "SC_PAGE_SIZE": 4096}.get)
    assert free_memory() == 7 * 4096


def test_this_machine_has_memory():
    assert free_memory() > 10**8


def test_model_that_fits_is_let_pass(system):
    require_room(500 * 1024, "cpu", "x", "float32")


@pytest.mark.parametrize(
    ("needed", "dtype", "hint"),
    [(900_000, "float32", True), (900_000, "bfloat16", False), (9_000_000, "float32", False)],
)
def test_model_that_does_not_fit_is_refused_with_both_numbers(needed, dtype, hint, system):
    with pytest.raises(DeviceError, match=r"for x in .*; it is 512 kB") as error:
        require_room(needed, "cpu", "x", dtype)
    assert as_text(needed) in str(error.value)
    assert ("bfloat16," in str(error.value)) == hint


def test_work_that_does_not_fit_is_refused_with_what_to_do(system):
    require_free(500 * 1024, "cpu", "for all", "Do less.")
    with pytest.raises(DeviceError) as error:
        require_free(900_000, "cpu", "for all", "Do less.")
    assert str(error.value) == (
        "free memory of cpu must be at least 900 kB for all; it is 512 kB. Do less."
    )


@pytest.mark.parametrize(
    ("num_bytes", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.00 kB"),
        (98_362_432, "98.4 MB"),
        (999_600_000, "1.00 GB"),
        (1_080_000_000, "1.08 GB"),
        (40 * 10**9, "40.0 GB"),
        (123_456 * 10**9, "123 TB"),
        (10**18, "1000000 TB"),
    ],
)
def test_bytes_are_told_with_three_digits(num_bytes, text):
    assert as_text(num_bytes) == text
