"""Under what a benchmark ran: without it, a time means nothing."""

import platform
import subprocess
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch

from attention.benchmark.counts import MEMORY_WORDS
from attention.benchmark.load import usable_cores
from attention.benchmark.settings import BenchmarkSettings
from attention.devices import find_device

CPUINFO = Path("/proc/cpuinfo")
ALLOCATOR_WORDS = {
    "user": "allocator as a user's program has it",
    "tuned": "allocator tuned to keep freed memory",
}


@dataclass(frozen=True, kw_only=True)
class Environment:
    """The machine and the settings that decide a time.

    Attributes:
        cpu: the CPU's model.
        cores: that the process may run on.
        threads: torch's threads within an operator.
        clock: what measured the times.
        system: operating system and architecture.
        python: version.
        torch: version.
        device: what torch calls the device.
        device_title: what a person calls it.
        dtype: computed in.
        tf32: whether float32 matrices may be multiplied as TF32; only on a CUDA device.
        allocator: how freed memory is handled.
        memory_by: what measured the peak memory; None where nothing can.
        l2: whether the L2 cache was emptied before each call; only on a CUDA device.
        compiled: whether `torch.compile` was used.
    """

    cpu: str
    cores: int
    threads: int
    clock: str
    system: str
    python: str
    torch: str
    device: str
    device_title: str
    dtype: str
    tf32: bool | None
    allocator: str
    memory_by: str | None = None
    l2: str | None = None
    compiled: bool = False

    @property
    def name(self) -> str:
        """What tells this machine from another, in a few words."""
        how = f"{self.dtype}{', compiled' if self.compiled else ''}"
        if self.device != "cpu":
            return f"{self.device_title}, {how}"
        threads = f"{self.threads} {'thread' if self.threads == 1 else 'threads'}"
        return f"{self.cpu}, {threads}, {how}"

    def __str__(self) -> str:
        """One line for a person."""
        parts = [
            f"{self.cpu}, {self.cores} {'core' if self.cores == 1 else 'cores'}",
            f"{self.threads} {'thread' if self.threads == 1 else 'threads'}",
            self.clock,
            f"torch {self.torch}",
            self.dtype,
            ALLOCATOR_WORDS[self.allocator],
        ]
        if self.device != "cpu":
            parts.insert(0, self.device_title)
        if self.tf32 is not None:
            parts.append(f"TF32 {'on' if self.tf32 else 'off'}")
        if self.compiled:
            parts.append("compiled")
        if self.l2 is not None:
            parts.append(f"L2 cache {self.l2}")
        return " · ".join(parts)

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def environment(settings: BenchmarkSettings) -> Environment:
    """The environment of a benchmark on this machine.

    Raises:
        DeviceError: when the device does not exist here or lacks the dtype.
    """
    device = find_device(settings.device, settings.dtype)
    cuda = device.kind == "cuda"
    return Environment(
        cpu=cpu_model(),
        cores=usable_cores(),
        threads=settings.threads,
        clock=_clock(settings, device.kind),
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        torch=str(torch.__version__),
        device=device.name,
        device_title=device.title,
        dtype=settings.dtype,
        tf32=bool(torch.backends.cuda.matmul.allow_tf32) if cuda else None,
        allocator=settings.allocator,
        memory_by=MEMORY_WORDS.get(device.kind),
        l2=settings.l2 if cuda else None,
        compiled=settings.compiled,
    )


def _clock(settings: BenchmarkSettings, kind: str) -> str:
    if kind == "cuda":
        return "CUDA events"
    return "CPU time" if settings.on_one_core else "wall clock"


@cache
def cpu_model(cpuinfo: Path = CPUINFO) -> str:
    """The CPU's name as its maker gives it; the architecture where it is not known."""
    if platform.system() == "Darwin":
        command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout.strip() or platform.machine()
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
