"""`torch.compile` over an attention layer: whether it can be used here, and what it takes."""

import importlib.util
import os
import shutil
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from torch import nn

from attention.errors import DeviceError

SWITCH = "HEADSCOPE_COMPILE"  # in the environment; "off" says that nothing is to be compiled
OFF = ("0", "no", "off", "false")
STEADY_CALLS = 5


def why_not_compiled(device: str | torch.device = "cpu") -> str | None:
    """Why PyTorch cannot compile for a device here; None when it can.

    On a CPU it writes C++ that a compiler of this machine translates; on CUDA it needs Triton.
    """
    if os.environ.get(SWITCH, "").strip().lower() in OFF:
        return f"it is switched off ({SWITCH} in the environment)"
    return _why_not(torch.device(device).type, os.environ.get("CXX") or _usual_compiler())


@cache  # asked in every forward of `flex`
def _why_not(kind: str, compiler: str) -> str | None:
    if kind == "cuda":
        return None if importlib.util.find_spec("triton") else "the package triton is not installed"
    if kind != "cpu":
        return None  # Apple's compiler is part of the system
    if shutil.which(compiler) is None:
        return f"no C++ compiler is found ({compiler}; CXX in the environment names another)"
    if not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        return "the header Python.h is not installed (mostly in a package named python3-dev)"
    return None


def _usual_compiler() -> str:
    """What PyTorch looks for on this system."""
    return {"darwin": "clang++", "win32": "cl"}.get(sys.platform, "g++")


def compile_module(
    module: nn.Module, device: str | torch.device, *, backend: str | Callable[..., Any] = "inductor"
) -> None:
    """Have a layer compiled at its first forward, in place; its weights keep their names.

    A change of gradients on or off, of the dtype, or once of the length, is compiled again. A
    copy of the layer, a pickled one too, is not compiled.

    Args:
        module: the layer.
        device: where it is.
        backend: of `torch.compile`; "inductor" makes machine code; others need no compiler.

    Raises:
        DeviceError: when there is no compiler here.
    """
    reason = why_not_compiled(device) if backend == "inductor" else None
    if reason is not None:
        raise DeviceError(
            f"compiled must be off where PyTorch cannot compile; got on: {reason}. "
            "Build the layer without it."
        )
    # Isolated: layers share their code, and after 8 of them the others would run uncompiled.
    module.compile(backend=backend, isolate_recompiles=True)


@dataclass(frozen=True)
class CompileTime:
    """What the first call of a compiled layer took beyond the later ones.

    Attributes:
        first_s: seconds of the first call.
        steady_s: seconds of the fastest later call.
    """

    first_s: float
    steady_s: float

    @property
    def seconds(self) -> float:
        """Spent on compiling; at least 0."""
        return max(0.0, self.first_s - self.steady_s)


def time_compiling(
    call: Callable[[], object], *, clock: Callable[[], float] = perf_counter
) -> CompileTime:
    """Time a layer's first call against later ones, on the wall clock.

    Leaves out waiting for a GPU: there the call must synchronise.

    Args:
        call: runs the compiled layer; it has not run with these shapes before.
        clock: seconds.
    """

    def seconds() -> float:
        start = clock()
        call()
        return clock() - start

    first = seconds()
    return CompileTime(first, min(seconds() for _ in range(STEADY_CALLS)))
