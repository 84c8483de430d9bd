import pytest
import torch

from attention.errors import DeviceError
from attention.memory import memory_errors_as_sentences

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
