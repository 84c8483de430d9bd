from concurrent.futures import ThreadPoolExecutor

import torch

from attention.benchmark import counts
from attention.benchmark.counts import Counts, count
from attention.config import AttentionConfig
from tests.implementations.contract import build

CPU = torch.device("cpu")
KIB = 1024


def test_operators_are_counted_with_those_that_they_call():
    a = torch.ones(3, 5)
    assert count(lambda: torch.neg(torch.neg(a)), CPU).operators == 2
    assert count(lambda: a.reshape(5, 3), CPU).operators > 1  # reshape dispatches view or the like


def test_peak_is_the_most_that_was_held_at_once():
    """Two tensors of 4 KiB live together, then one of 12 after them."""

    def call():
        first, second = torch.ones(KIB), torch.ones(KIB)
        del first, second
        return torch.ones(3 * KIB).sum().item()

    peak = count(call, CPU).peak_bytes
    assert 12 * KIB <= peak < 13 * KIB


def test_what_was_held_before_does_not_count():
    kept = torch.ones(100 * KIB)
    assert count(lambda: kept.add_(1.0), CPU).peak_bytes < KIB


def test_memory_of_several_threads_is_not_guessed():
    def call():
        with ThreadPoolExecutor(1) as pool:
            pool.submit(torch.ones, KIB).result()
        return torch.ones(KIB)

    found = count(call, CPU)
    assert found.peak_bytes is None
    assert found.operators >= 2


def test_memory_of_heads_on_threads_is_told():
    # The profiler records the allocations of one thread: there was a dash.
    config = AttentionConfig.total(7, 15, 3, 64)
    module = build("threads", config, dtype=torch.float32)
    x = torch.ones(1, 64, 7)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        found = count(lambda: module(x), CPU)
    finally:
        torch.set_num_threads(before)
    square = 4 * 64 * 64
    assert found.peak_bytes >= square


def test_kernels_are_a_gpus():
    assert count(lambda: torch.ones(3), CPU).kernels is None


def test_memory_of_a_gpu_is_its_peak_beyond_what_it_held(monkeypatch):
    held = iter([700])
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: None)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: next(held))
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda device: None)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda device: 1700)
    found = counts._peak(lambda: None, torch.device("cuda:0"), one_thread=True)
    assert found == 1000


class Event:
    """An event as the profiler has it."""

    def __init__(self, name, device=torch.autograd.DeviceType.CPU):
        self.name = lambda: name
        self.device_type = lambda: device
        self.start_thread_id = lambda: 1


def test_copies_are_no_kernels(monkeypatch):
    gpu = torch.autograd.DeviceType.CUDA
    events = [Event("aten::mm"), Event("sgemm", gpu), Event("Memcpy DtoD", gpu), Event("soft", gpu)]
    monkeypatch.setattr(counts, "_events", lambda call, device: events)
    monkeypatch.setattr(counts, "_peak", lambda call, device, one_thread: 5)
    assert count(lambda: None, torch.device("cuda:0")) == Counts(1, 2, 5)


def test_system_without_a_profiler_leaves_the_counts_out(monkeypatch, caplog):
    def missing(call, device):
        raise RuntimeError("no profiler")

    monkeypatch.setattr(counts, "_events", missing)
    assert count(lambda: None, CPU) == Counts()
    assert "no profiler" in caplog.text
