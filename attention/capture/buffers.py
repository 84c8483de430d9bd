"""Memory for patterns that is used again as soon as nobody holds it any more.

A large tensor that is allocated anew at every call takes a page fault for every 4 kB, which costs
about as much as the attention itself. Memory that is simply written over by the next call would
change what a caller keeps. Here a buffer returns only when the last tensor, view or array on it
is gone.
"""

import weakref
from itertools import count
from math import prod

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

SMALLEST = 1 << 20  # bytes; the allocator serves less than that without new pages
IDLE_BYTES = 640 << 20  # kept while unused: the patterns of GPT-2 small at 1,024 tokens are 604 MB


class BufferPool:
    """Buffers in a CPU's memory. Threads may share it.

    It takes no lock: buffers return whenever Python frees an object, which may be in the middle of
    any statement here. Each step on the dictionary is atomic.

    Args:
        idle_bytes: the most that is kept while nobody uses it.
    """

    def __init__(self, idle_bytes: int = IDLE_BYTES) -> None:
        self.idle_bytes = idle_bytes
        self._idle: dict[int, NDArray[np.uint8]] = {}  # oldest first
        self._keys = count()

    @property
    def idle(self) -> int:
        """Bytes kept that nobody uses now."""
        return sum(buffer.nbytes for buffer in list(self._idle.values()))

    def take(self, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        """A tensor of the caller's own with any numbers in it, as `torch.empty`."""
        size = prod(shape) * dtype.itemsize
        if size < SMALLEST:
            return torch.empty(shape, dtype=dtype)
        buffer = self._unused(size)
        if buffer is None:
            buffer = torch.empty(_rounded(size), dtype=torch.uint8).numpy()
        held = buffer[:size]  # an object of its own, which lives as long as the tensor's memory
        weakref.finalize(held, self._give_back, buffer).atexit = False
        return torch.from_numpy(held).view(dtype).view(shape)

    def clear(self) -> None:
        """Free what nobody uses."""
        self._idle.clear()

    def _unused(self, size: int) -> NDArray[np.uint8] | None:
        """The smallest buffer that fits without wasting half of it; the latest of equal ones."""
        fitting = [
            (buffer.nbytes, -key)
            for key, buffer in list(self._idle.items())
            if size <= buffer.nbytes <= 2 * size
        ]
        for _, negative in sorted(fitting):
            buffer = self._idle.pop(-negative, None)  # None: another thread was faster
            if buffer is not None:
                return buffer
        return None

    def _give_back(self, buffer: NDArray[np.uint8]) -> None:
        self._idle[next(self._keys)] = buffer
        excess = self.idle - self.idle_bytes
        for key in list(self._idle):
            if excess <= 0:
                break
            oldest = self._idle.pop(key, None)
            excess -= 0 if oldest is None else oldest.nbytes


def _rounded(size: int) -> int:
    """A size that others round up to as well: a sequence of growing blocks uses few buffers."""
    quarter = 1 << max(0, size.bit_length() - 3)
    return -(-size // quarter) * quarter


POOL = BufferPool()
