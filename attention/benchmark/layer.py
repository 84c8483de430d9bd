"""The layer that is measured, its exact result, and the check of an implementation against it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from attention.benchmark.settings import BenchmarkSettings
from attention.benchmark.work import Sizes
from attention.config import AttentionConfig
from attention.devices import DTYPES
from attention.errors import ConfigError, DeviceError
from attention.implementations import IMPLEMENTATIONS, build_attention
from attention.implementations.base import AttentionModule
from attention.timing import largest_difference
from attention.weights import HeadWeights

# Of numbers around 1: a few roundings of the dtype in sums of some thousand terms.
TOLERANCES = {"float32": 1e-5, "bfloat16": 3e-2, "float16": 4e-3}
# Scores, masked scores and pattern are held at once: in float64, and in the dtype measured.
SQUARES_HELD = 3
MEMINFO = Path("/proc/meminfo")


@dataclass(frozen=True)
class Layer:
    """One attention layer at one head count.

    Attributes:
        settings: the benchmark it belongs to.
        config: its sizes.
        weights: its numbers, already rounded to the dtype.
        x: its input (batch, pos, d_in), already rounded to the dtype, on the device.
        out: the exact output, in float64.
        pattern: the exact pattern, in float64.
    """

    settings: BenchmarkSettings
    config: AttentionConfig
    weights: HeadWeights
    x: Tensor
    out: Tensor
    pattern: Tensor

    @property
    def sizes(self) -> Sizes:
        """What its FLOPs and bytes follow from."""
        settings = self.settings
        return Sizes(
            config=self.config,
            batch=settings.batch,
            seq_len=settings.seq_len,
            itemsize=DTYPES[settings.dtype].itemsize,
            backward=settings.passes == "backward",
        )


@dataclass(frozen=True)
class Check:
    """How far an implementation is from the exact result; see Measurement."""

    output_difference: float
    pattern_difference: float | None
    tolerance: float
    equal: bool


def prepare(settings: BenchmarkSettings, num_heads: int) -> Layer:
    """Draw the layer and its input from the seed, and compute the exact result.

    Raises:
        ConfigError: when the head count does not fit the width.
        DeviceError: when the patterns would not fit in memory.
    """
    config = settings.config(num_heads)
    _check_memory(settings, num_heads)
    dtype = DTYPES[settings.dtype]
    generator = torch.Generator().manual_seed(settings.seed)
    weights = HeadWeights.init(config, generator=generator).to("cpu", dtype)
    x = torch.randn(settings.batch, settings.seq_len, config.d_in, generator=generator).to(dtype)
    where = settings.device if settings.device.startswith("cuda") else "cpu"  # MPS has no float64
    exact = build_attention("batched", config, weights, device=where, dtype=torch.float64)
    with torch.inference_mode():
        out, pattern = exact(x.to(where, torch.float64), need_pattern=True)
    return Layer(settings, config, weights, x.to(settings.device), out, pattern)


def build(layer: Layer, name: str) -> AttentionModule:
    """The layer computed in one way, where the benchmark runs.

    Raises:
        ConfigError: when it cannot be computed, trained or compiled in this way.
        DeviceError: when nothing can be compiled here.
    """
    settings = layer.settings
    _check_backward(settings, name)
    dtype = DTYPES[settings.dtype]
    return build_attention(
        name,
        layer.config,
        layer.weights,
        device=settings.device,
        dtype=dtype,
        compiled=settings.compiled,
    )


def _check_backward(settings: BenchmarkSettings, name: str) -> None:
    entry, kind = IMPLEMENTATIONS[name], torch.device(settings.device).type
    if settings.passes == "backward" and kind not in entry.trains_on:
        on = f"; it has one on {', '.join(entry.trains_on)}" if entry.trains_on else ""
        raise ConfigError(
            f"passes must be forward for {entry.title} on {kind}: "
            f"it has no backward pass there{on}."
        )


@torch.inference_mode()
def check(layer: Layer, module: AttentionModule) -> Check:
    """Compare a module's output and pattern with the exact ones.

    The tolerance is relative where numbers are above 1 and absolute below.
    """
    out, pattern = module(layer.x, need_pattern=True)
    base = TOLERANCES[layer.settings.dtype]
    tolerance = base * max(1.0, float(layer.out.abs().max()))
    output_difference = largest_difference(out.to(layer.out.device), layer.out)
    pattern_difference = None
    equal = output_difference <= tolerance  # False for NaN
    if pattern is not None:
        pattern_difference = largest_difference(pattern.to(layer.pattern.device), layer.pattern)
        equal = equal and pattern_difference <= base
    return Check(output_difference, pattern_difference, tolerance, equal)


def call(layer: Layer, module: AttentionModule) -> Callable[[], object]:
    """What is timed: a forward pass, or one with the gradients of input and weights."""
    if layer.settings.passes == "forward":
        return lambda: module(layer.x)
    x = layer.x.clone().requires_grad_()
    inputs = [x, *module.parameters()]
    ones = torch.ones_like(layer.out, dtype=x.dtype, device=x.device)

    def forward_and_backward() -> None:
        with torch.inference_mode(mode=False):
            torch.autograd.grad(module(x), inputs, ones)

    return forward_and_backward


def describe_weights(module: AttentionModule) -> tuple[str, ...]:
    """Each weight matrix once with its shape (out, in), the same one of many heads counted."""
    shapes: dict[tuple[str, tuple[int, ...]], int] = {}
    for name, tensor in module.state_dict().items():
        if tensor.dim() > 1:
            plain = re.sub(r"\.\d+\.", ".*.", name).removesuffix(".weight")
            key = (plain, tuple(tensor.shape))
            shapes[key] = shapes.get(key, 0) + 1
    ordered = sorted(shapes.items(), key=lambda item: item[0][0].startswith("out_proj"))
    return tuple(
        f"{f'{count} × ' if '*' in name else ''}{name} {shape}" for (name, shape), count in ordered
    )


def _check_memory(settings: BenchmarkSettings, num_heads: int) -> None:
    free, where = free_memory(), ""
    if settings.device.startswith("cuda"):
        free, where = free_gpu_memory(settings.device), f" of {settings.device}"
    cells = settings.batch * num_heads * settings.seq_len**2
    needed = cells * SQUARES_HELD * (8 + DTYPES[settings.dtype].itemsize)
    noun = "head" if num_heads == 1 else "heads"
    if free is not None and needed > free:
        raise DeviceError(
            f"memory{where} must be enough for the patterns of {num_heads} {noun} at "
            f"{settings.seq_len} tokens; they need about {needed / 1e9:.1f} GB and "
            f"{free / 1e9:.1f} GB are free. Use fewer heads, a shorter text or a smaller batch."
        )


def free_gpu_memory(device: str) -> int:
    """Bytes that can still be allocated there, those that torch keeps for itself among them."""
    free, _ = torch.cuda.mem_get_info(device)
    return int(free) + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)


def free_memory(meminfo: Path = MEMINFO) -> int | None:
    """Bytes that can still be used without swapping; None where the system does not tell."""
    try:
        found = re.search(r"^MemAvailable:\s+(\d+) kB", meminfo.read_text("ascii"), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) * 1024 if found else None
