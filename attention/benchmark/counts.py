"""What one pass dispatches, launches and allocates, as the profiler sees it; never while timing."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch._C._autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from attention.benchmark.faults import page_faults
from attention.benchmark.held import HeldMemory

log = logging.getLogger("headscope")
MEMORY_WORDS = {
    "cpu": "torch.profiler's record of every allocation (with heads on threads: every tensor)",
    "cuda": "torch.cuda.max_memory_allocated",
}
NO_KERNELS = ("Memcpy", "Memset")


@dataclass(frozen=True)
class Counts:
    """What was counted in one pass; None where nobody can tell.

    Attributes:
        operators: aten:: operators dispatched, those that others call among them, on all threads.
        kernels: kernels that ran on the GPU.
        peak_bytes: the most memory that was held at once, beyond what was held before.
        faults: pages of memory that the system handed out anew; on a CPU.
    """

    operators: int | None = None
    kernels: int | None = None
    peak_bytes: int | None = None
    faults: int | None = None


def count(call: Callable[[], object], device: torch.device) -> Counts:
    """Run a call a few times more, and count.

    Where operators run in several threads the memory on a CPU is that of all tensors: the profiler
    records the allocations of one thread.

    Args:
        call: a pass that has run before, so that nothing is set up in it.
        device: where it computes.
    """
    try:
        with torch.inference_mode():
            events = _events(call, device)
            peak = _peak(call, device, one_thread=len(_threads(events)) <= 1)
            faults = page_faults(call) if device.type == "cpu" else None
    except RuntimeError:  # a system that the profiler does not know
        log.warning("Nothing could be counted", exc_info=True)
        return Counts()
    kernels = sum(_is_kernel(event) for event in events) if device.type == "cuda" else None
    return Counts(sum(map(_is_operator, events)), kernels, peak, faults)


def _events(call: Callable[[], object], device: torch.device, *, memory: bool = False) -> list[Any]:
    """What the profiler recorded of one call, as it has it: building its tables takes long."""
    activities = [ProfilerActivity.CPU]
    if device.type == "cuda":
        activities.append(ProfilerActivity.CUDA)
    # With all threads there is no memory, and with memory only the thread that calls.
    settings = torch._C._profiler._ExperimentalConfig(profile_all_threads=not memory)
    with profile(
        activities=activities, experimental_config=settings, acc_events=True, profile_memory=memory
    ) as profiler:
        call()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
    found = profiler.profiler.kineto_results if profiler.profiler is not None else None
    return list(found.events()) if found is not None else []


def _is_operator(event: Any) -> bool:  # noqa: ANN401 - torch names no type for it
    return str(event.name()).startswith("aten::")


def _is_kernel(event: Any) -> bool:  # noqa: ANN401
    on_gpu = event.device_type() == DeviceType.CUDA
    return on_gpu and not str(event.name()).startswith(NO_KERNELS)


def _threads(events: list[Any]) -> set[int]:
    return {event.start_thread_id() for event in events if _is_operator(event)}


def _peak(call: Callable[[], object], device: torch.device, *, one_thread: bool) -> int | None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        before = torch.cuda.memory_allocated(device)
        torch.cuda.reset_peak_memory_stats(device)
        call()
        torch.cuda.synchronize(device)
        return torch.cuda.max_memory_allocated(device) - before
    if device.type != "cpu":
        return None
    if not one_thread:
        with torch.inference_mode(mode=False), torch.no_grad(), HeldMemory() as held:
            call()
        return held.peak if len(held.threads) > 1 else None  # threads that it was not told of
    events = [e for e in _events(call, device, memory=True) if e.name() == "[memory]"]
    held = peak = 0
    for event in sorted(events, key=lambda e: int(e.start_ns())):
        held += int(event.nbytes())
        peak = max(peak, held)
    return peak
