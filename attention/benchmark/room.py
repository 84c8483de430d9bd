"""How much memory a layer needs, worked out before any of it is taken."""

import re
from pathlib import Path

import torch

from attention.benchmark.numbers import heads_written
from attention.benchmark.passes import PASSES
from attention.benchmark.settings import BenchmarkSettings
from attention.benchmark.units import in_bytes
from attention.devices import DTYPES
from attention.errors import DeviceError
from attention.implementations import IMPLEMENTATIONS

MEMINFO = Path("/proc/meminfo")
EXACT = 8  # bytes of a float64
LEAST_CHECKED, MOST_CHECKED = 16, 1024  # tokens of a text that is too long to check whole
SHARE = 4  # of the free memory, a quarter at most for the beginning that is checked


def require_room(settings: BenchmarkSettings, num_heads: int) -> None:
    """Refuse a layer whose weights, tokens and least check do not fit.

    Raises:
        DeviceError: names what is needed and what is free, bytes.
    """
    free, where = free_bytes(settings)
    fewest = settings.seq_len
    if PASSES[settings.passes].extra == 0:
        fewest = min(fewest, LEAST_CHECKED)
    needed = _fixed(settings, num_heads) + _squares(settings, num_heads, fewest)
    if free is not None and needed > free:
        batch = "" if settings.batch == 1 else f", batch {settings.batch}"
        raise DeviceError(
            f"memory{where} must be enough for a layer {settings.config(num_heads).d_out} wide "
            f"with {heads_written(num_heads)}, seq_len {settings.seq_len}{batch}; it needs about "
            f"{in_bytes(needed)} and {in_bytes(free)} are free. Use a smaller width, a shorter "
            "text or a smaller batch."
        )


def checked_tokens(settings: BenchmarkSettings, num_heads: int) -> int:
    """How many tokens, from the first, are computed whole in float64 to check against.

    Returns:
        all of them where their squares fit; otherwise a power of two.
    """
    free, _ = free_bytes(settings)
    whole = settings.seq_len
    if free is None or _squares(settings, num_heads, whole) <= free:
        return whole
    fits = MOST_CHECKED
    while fits > LEAST_CHECKED and _squares(settings, num_heads, fits) > free // SHARE:
        fits //= 2
    return min(fits, whole)


def require_room_for(name: str, settings: BenchmarkSettings, num_heads: int) -> None:
    """Refuse an implementation that keeps more of the patterns than fits.

    Raises:
        DeviceError: names what is needed and what is free, bytes.
    """
    free, where = free_bytes(settings)
    needed = _kept_by(name, settings, num_heads)
    if free is not None and needed > free:
        raise DeviceError(
            f"memory{where} must be enough for the patterns of {heads_written(num_heads)} at "
            f"{settings.seq_len} tokens; {IMPLEMENTATIONS[name].title} needs about "
            f"{in_bytes(needed)} and {in_bytes(free)} are free. Use fewer heads, a shorter text or "
            "a smaller batch."
        )


def has_room_for_products(settings: BenchmarkSettings, num_heads: int) -> bool:
    """Whether plain matrix products of the layer's shapes fit, which write whole squares."""
    free, _ = free_bytes(settings)
    kind, itemsize = PASSES[settings.passes], DTYPES[settings.dtype].itemsize
    cells = settings.batch * num_heads * kind.positions(settings.seq_len).square.value
    return free is None or cells * itemsize <= free


def free_bytes(settings: BenchmarkSettings) -> tuple[int | None, str]:
    """What can still be used where the benchmark runs, and how to say where that is."""
    if settings.device.startswith("cuda"):
        return free_gpu_memory(settings.device), f" of {settings.device}"
    return free_memory(), ""


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


def _fixed(settings: BenchmarkSettings, num_heads: int) -> int:
    """Weights and tokens: in float64, as they are drawn, and in the dtype measured."""
    c = settings.config(num_heads)
    columns = (c.num_heads + 2 * c.num_kv_heads) * c.head_dim
    weights = c.d_in * columns + (c.d_out * c.d_model if c.out_proj else 0)
    tokens = settings.batch * settings.tokens * (c.d_in + columns + c.d_out + c.d_model)
    itemsize = DTYPES[settings.dtype].itemsize
    return weights * (EXACT + 4 + 2 * itemsize) + tokens * (EXACT + itemsize)


def _squares(settings: BenchmarkSettings, num_heads: int, tokens: int) -> int:
    """What the patterns take in the check: in float64, and in the dtype measured."""
    kind = PASSES[settings.passes]
    cells = settings.batch * num_heads * kind.rows_held(tokens) * tokens
    return cells * kind.squares * (EXACT + DTYPES[settings.dtype].itemsize)


def _kept_by(name: str, settings: BenchmarkSettings, num_heads: int) -> int:
    """What an implementation keeps of the patterns in the pass that is timed, at most."""
    entry, kind = IMPLEMENTATIONS[name], PASSES[settings.passes]
    if entry.scores == "kernel" or (entry.scores == "triangle" and not kind.gradients):
        return 0
    one_by_one = entry.projections == "per_head" and not kind.gradients
    heads = num_heads
    if one_by_one:
        heads = min(num_heads, settings.threads) if name == "threads" else 1
    cells = kind.rows_held(settings.seq_len) * settings.seq_len
    mask = 2 * cells  # as bool, and inverted
    return settings.batch * heads * cells * kind.squares * DTYPES[settings.dtype].itemsize + mask
