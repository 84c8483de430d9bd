"""Turns the ways in which torch runs out of memory into one sentence."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from attention.errors import DeviceError

# How a failed allocation on a CPU names itself, and tensors larger than torch can count.
TOO_LARGE = ("DefaultCPUAllocator", "Storage size calculation overflowed", "numel: integer mult")


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
        if not full and not any(words in str(error) for words in TOO_LARGE):
            raise
        raise DeviceError(
            f"memory of {device} must be enough for this text and model; it ran out. "
            "Use a shorter text, a smaller dtype or another device."
        ) from error
