"""The layer that is measured, what goes into it, and its exact result."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attention.benchmark.passes import PASSES, Given, Ready, Result
from attention.benchmark.room import checked_tokens, require_room, require_room_for
from attention.benchmark.settings import BenchmarkSettings
from attention.benchmark.work import Sizes
from attention.config import AttentionConfig
from attention.devices import DTYPES
from attention.errors import ConfigError
from attention.implementations import IMPLEMENTATIONS, build_attention
from attention.implementations.base import AttentionModule, merge_heads, split_heads
from attention.implementations.batched import BatchedAttention
from attention.weights import HeadWeights

DISTANT = 16  # rows that are checked beyond the beginning of a long text


@dataclass(frozen=True)
class Layer:
    """One attention layer at one head count.

    Attributes:
        settings: the benchmark it belongs to.
        config: its sizes.
        weights: its numbers, already rounded to the dtype.
        given: what goes in, already rounded to the dtype, on the device.
        exact: what comes out, in float64; of the beginning, where the whole is too long.
        beginning: what the check puts in, where the whole is too long to compute in float64.
        distant: a few exact rows of the rest, then.
    """

    settings: BenchmarkSettings
    config: AttentionConfig
    weights: HeadWeights
    given: Given
    exact: Result
    beginning: Given | None = None
    distant: "Distant | None" = None

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

    def ready_to_check(self, module: AttentionModule) -> Ready | None:
        """The same over the beginning alone; None where the whole can be checked."""
        if self.beginning is None:
            return None
        return PASSES[self.settings.passes].ready(module, self.beginning)


@dataclass(frozen=True)
class Distant:
    """Exact rows of the output, far from the beginning.

    Attributes:
        rows: which tokens.
        out: their output in float64.
    """

    rows: tuple[int, ...]
    out: Float[Tensor, "batch row d_model"]


def prepare(settings: BenchmarkSettings, num_heads: int) -> Layer:
    """Draw the layer and its input from the seed, and compute the exact result.

    Raises:
        ConfigError: when the head count does not fit the width.
        DeviceError: when the layer would not fit in memory.
    """
    config = settings.config(num_heads)
    require_room(settings, num_heads)
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
    part = None if kind.extra else checked_tokens(settings, num_heads)
    if part is None or part == settings.seq_len:
        return Layer(settings, config, weights, given, kind.exact(module, wide))
    rows = _spread(part, settings.seq_len)
    distant = Distant(rows, distant_rows(module, wide.x, rows))
    exact = kind.exact(module, _beginning(wide, part))
    return Layer(settings, config, weights, given, exact, _beginning(given, part), distant)


def _beginning(given: Given, tokens: int) -> Given:
    return Given(given.x[:, :tokens].contiguous(), given.pull[:, :tokens].contiguous())


def build(layer: Layer, name: str) -> AttentionModule:
    """The layer computed in one way, where the benchmark runs.

    Raises:
        ConfigError: when it cannot be computed or compiled in this way, or has no such pass.
        DeviceError: when nothing can be compiled here, or its patterns would not fit in memory.
    """
    settings = layer.settings
    require_room_for(name, settings, layer.config.num_heads)
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


def distant_rows(module: BatchedAttention, x: Tensor, rows: Sequence[int]) -> Tensor:
    """The output of a few tokens (batch, row, d_model), each from its own row of the pattern.

    Needs no square of a long text.

    Args:
        module: what computes it.
        x: the whole text (batch, pos, d_in).
        rows: which tokens.
    """
    config = module.config
    with torch.inference_mode():
        q, k, v = module.project(x)
        q = split_heads(q, config.num_heads)
        k, v = (split_heads(t, config.num_kv_heads) for t in (k, v))
        seen = [(q[:, :, i : i + 1], k[:, :, : i + 1], v[:, :, : i + 1]) for i in rows]
        z = torch.cat([module.attend(*qkv)[0] for qkv in seen], dim=2)
        out: Tensor = module.out_proj(merge_heads(z))
        return out


def _spread(start: int, end: int) -> tuple[int, ...]:
    """At most so many tokens of a range, the last one among them."""
    step = max(1, (end - start) // DISTANT)
    return tuple(range(end - 1, start - 1, -step))[:DISTANT][::-1]
