"""Measurements that were never measured, and a worker that makes them."""

import threading

from attention.benchmark import BenchmarkSettings
from attention.benchmark.measurement import Measurement

NAMES = ("looped", "batched", "sdpa")
BASE_MS = {"looped": 1.0, "batched": 1.0, "sdpa": 0.5}
SLOPE_MS = {"looped": 0.25, "batched": 0.0, "sdpa": 0.0}


def settings(**changes):
    values = {"heads": (1,), "implementations": NAMES, "d_out": 48, "seq_len": 11, "threads": 1}
    return BenchmarkSettings(**(values | changes))


def point(asked, name, num_heads, **changes):
    config = asked.config(num_heads)
    middle = BASE_MS[name] + SLOPE_MS[name] * num_heads
    values = {
        "samples": (middle - 0.1, middle, middle + 0.1),
        "equal": True,
        "output_difference": 2e-7,
        "pattern_difference": None if name == "sdpa" else 1e-7,
        "tolerance": 1e-5,
        "others": 0.1,
        "flops": 1_000_000,
        "moved_bytes": 2_000_000,
        "limit_ms": middle / 4,
        "least_ms": 0.2,
        "peak_bytes": 3_000_000,
        "operators": 10 * num_heads,
        "weights": (f"{num_heads} × heads.*.W_query ({config.head_dim}, {config.d_in})",),
        "output": (asked.batch, asked.seq_len, config.d_model),
    }
    return Measurement(
        implementation=name,
        num_heads=num_heads,
        head_dim=config.head_dim,
        d_out=config.d_out,
        **(values | changes),
    )


class FakeWorker:
    """Answers at once, or when `gate` opens; notes what it was asked."""

    def __init__(self, allocator="user", *, open_gate=True):
        self.allocator = allocator
        self.waiting = False
        self.asked = []
        self.settings = None  # of what it was asked last
        self.stopped = threading.Event()
        self.gate = threading.Event()
        self.began = threading.Event()
        self.make = point
        if open_gate:
            self.gate.set()

    @property
    def alive(self):
        return not self.stopped.is_set()

    def measure(self, asked, num_heads):
        self.asked.append(num_heads)
        self.settings = asked
        self.began.set()
        self.gate.wait()
        if self.alive:
            yield from (self.make(asked, name, num_heads) for name in asked.implementations)

    def stop(self):
        self.stopped.set()
        self.gate.set()
