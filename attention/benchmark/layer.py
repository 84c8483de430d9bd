"""The layer that is measured, what goes into it, and its exact result."""

import re
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from attention.benchmark.passes import PASSES, Given, Ready, Result
from attention.benchmark.settings import BenchmarkSettings
from attention.benchmark.work import Sizes
from attention.config import AttentionConfig
from attention.devices import DTYPES
from attention.errors import ConfigError, DeviceError
from attention.implementations import IMPLEMENTATIONS, build_attention
from attention.implementations.base import AttentionModule
from attention.implementations.batched import BatchedAttention
from attention.weights import HeadWeights

MEMINFO = Path("/proc/meminfo")


@dataclass(frozen=True)
class Layer:
    """One attention layer at one head count.

    Attributes:
        settings: the benchmark it belongs to.
        config: its sizes.
        weights: its numbers, already rounded to the dtype.
        given: what goes in, already rounded to the dtype, on the device.
        exact: what comes out, in float64.
    """

    settings: BenchmarkSettings
    config: AttentionConfig
    weights: HeadWeights
    given: Given
    exact: Result

    @property
    def x(self) -> Tensor:
        """The tokens (batch, pos, d_in)."""
        return self.given.x

    @property
    def sizes(self) -> Sizes:
        """What its FLOPs and bytes follow from."""
        return Sizes.of(self.settings, self.config.num_heads)

    def ready(self, module: AttentionModule) -> Ready:
        """The pass that is timed, set up for one implementation."""
        return PASSES[self.settings.passes].ready(module, self.given)


def prepare(settings: BenchmarkSettings, num_heads: int) -> Layer:
    """Draw the layer and its input from the seed, and compute the exact result.

    Raises:
        ConfigError: when the head count does not fit the width.
        DeviceError: when the patterns would not fit in memory.
    """
    config = settings.config(num_heads)
    _check_memory(settings, num_heads)
    dtype, kind = DTYPES[settings.dtype], PASSES[settings.passes]
    generator = torch.Generator().manual_seed(settings.seed)
    weights = HeadWeights.init(config, generator=generator).to("cpu", dtype)
    x = torch.randn(settings.batch, settings.tokens, config.d_in, generator=generator).to(dtype)
    queries = kind.positions(settings.seq_len).queries.value
    pull = torch.randn(settings.batch, queries, config.d_model, generator=generator).to(dtype)
    where = settings.device if settings.device.startswith("cuda") else "cpu"  # MPS has no float64
    module = build_attention("batched", config, weights, device=where, dtype=torch.float64)
    assert isinstance(module, BatchedAttention)
    wide = Given(x.to(where, torch.float64), pull.to(where, torch.float64))
    given = Given(x.to(settings.device), pull.to(settings.device))
    return Layer(settings, config, weights, given, kind.exact(module, wide))


def build(layer: Layer, name: str) -> AttentionModule:
    """The layer computed in one way, where the benchmark runs.

    Raises:
        ConfigError: when it cannot be computed or compiled in this way, or has no such pass.
        DeviceError: when nothing can be compiled here.
    """
    settings = layer.settings
    kind = torch.device(settings.device).type
    reason = PASSES[settings.passes].why_not(IMPLEMENTATIONS[name], kind)
    if reason is not None:
        raise ConfigError(reason)
    dtype = DTYPES[settings.dtype]
    return build_attention(
        name,
        layer.config,
        layer.weights,
        device=settings.device,
        dtype=dtype,
        compiled=settings.compiled,
    )


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
    kind = PASSES[settings.passes]
    cells = settings.batch * num_heads * kind.rows_held(settings.seq_len) * settings.seq_len
    # In float64 for the exact result, and in the dtype measured.
    needed = cells * kind.squares * (8 + DTYPES[settings.dtype].itemsize)
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
