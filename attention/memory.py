"""Turns the ways in which torch runs out of memory into one sentence."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from attention.errors import DeviceError

CPU_ALLOCATOR = "DefaultCPUAllocator"  # how a failed allocation on a CPU names itself


@contextmanager
def memory_errors_as_sentences(device: torch.device) -> Iterator[None]:
    """Run a block; running out of memory in it becomes a DeviceError.

    Raises:
        DeviceError: when the device had too little memory for the block.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        full = isinstance(error, torch.OutOfMemoryError | MemoryError)
        if not full and CPU_ALLOCATOR not in str(error):
            raise
        raise DeviceError(
            f"memory of {device} must be enough for this text and model; it ran out. "
            "Use a shorter text, a smaller dtype or another device."
        ) from error
