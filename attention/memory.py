"""How much memory is free, and what happens when it is not enough: one sentence."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from attention.errors import DeviceError

# How a failed allocation on a CPU names itself, and tensors larger than torch can count.
TOO_LARGE = ("DefaultCPUAllocator", "Storage size calculation overflowed", "numel: integer mult")
MEMINFO = Path("/proc/meminfo")
GROUP = Path("/sys/fs/cgroup")  # what a container may use
DIGITS = 3


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


def free_memory(device: str = "cpu") -> int | None:
    """How much a device has left, bytes.

    Leaves out what can be swapped to a disk. Where a system tells only how much it has in all
    (macOS), that is taken.

    Returns:
        bytes; None where the system does not tell.
    """
    place = torch.device(device)
    if place.type == "cuda":
        kept = torch.cuda.memory_reserved(place) - torch.cuda.memory_allocated(place)
        return torch.cuda.mem_get_info(place)[0] + kept
    if place.type == "mps":
        return torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory()
    told = [size for size in (_of_system(), _of_group()) if size is not None]
    return min(told, default=None)


def _of_system() -> int | None:
    try:
        for line in MEMINFO.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):  # no Linux; no such figure; Windows
        try:
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError, AttributeError):
            return None


def _of_group() -> int | None:
    """What the container has left; files that are only cached count as free."""
    try:
        most = (GROUP / "memory.max").read_text(encoding="ascii").strip()
        used = int((GROUP / "memory.current").read_text(encoding="ascii"))
        kinds = (GROUP / "memory.stat").read_text(encoding="ascii").split()
        cached = int(kinds[kinds.index("inactive_file") + 1])
        return None if most == "max" else max(0, int(most) - used + cached)
    except (OSError, ValueError, IndexError):
        return None


def as_text(num_bytes: int) -> str:
    """Bytes for a person, with three digits: 98.4 MB, 1.08 GB."""
    size, unit = float(num_bytes), "bytes"
    for larger in ("kB", "MB", "GB", "TB"):
        if size < 999.5:
            break
        size, unit = size / 1000, larger
    if unit == "bytes":
        return f"{num_bytes} {unit}"
    whole = len(str(int(size)))
    return f"{size:.{max(0, DIGITS - whole)}f} {unit}"


def require_room(needed: int, device: str, name: str, dtype: str) -> None:
    """Refuse a model that is larger than the memory that is left.

    Args:
        needed: bytes.
        device: where they are needed.
        name: of the model.
        dtype: what it would be kept in.

    Raises:
        DeviceError: names both.
    """
    free = free_memory(device)
    halved = dtype == "float32" and free is not None and needed // 2 <= free
    smaller = " a smaller dtype such as bfloat16," if halved else ""
    require_free(
        needed,
        device,
        f"for {name} in {dtype}",
        f"Use a smaller model,{smaller} or another device.",
    )


def require_free(needed: int, device: str, purpose: str, instead: str) -> None:
    """Refuse what takes more memory than is left, before it is begun.

    Args:
        needed: bytes.
        device: where they are needed.
        purpose: what for, such as "for all heads' patterns".
        instead: what to do, a sentence.

    Raises:
        DeviceError: names both.
    """
    free = free_memory(device)
    if free is not None and needed > free:
        raise DeviceError(
            f"free memory of {device} must be at least {as_text(needed)} {purpose}; it is "
            f"{as_text(free)}. {instead}"
        )
