"""What all heads' patterns cost: `capture` against every usual way, in one run.

`python -m tests.bench.capture` times the core (q, k, v to the heads' outputs and patterns), the
whole layer, and the forward pass of a model of GPT-2 small's shape, and prints Markdown tables for
docs/capture.md and whether the aims are met. About four minutes; `--lengths 64 --no-model` takes
seconds. The implementations take turns, so that what else the machine does falls on all alike.
"""

import os
import platform
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from time import perf_counter, thread_time

import click
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention, softmax

from attention import capture
from attention.benchmark.environment import cpu_model
from attention.blocks import LayerObservation
from attention.capture.choice import CHOICE, Core
from attention.config import AttentionConfig
from attention.implementations import build_attention
from attention.model import LanguageModel
from attention.model_config import ModelConfig
from attention.timing import time_interleaved
from attention.weights import HeadWeights

HEADS, HEAD_DIM = 12, 64
WIDTH = HEADS * HEAD_DIM
BATCHED, SDPA, PACKED = "batched", "SDPA, no patterns", "capture, torch, packed"
TORCH_CORE, C_CORE = "capture, torch", "capture, C"
# Length, who, how many times as fast as batched at least.
AIMS = (
    *((1024, name, 4.0) for name in (C_CORE, PACKED, TORCH_CORE)),
    *((256, name, 1.25) for name in (PACKED, TORCH_CORE)),
    (256, C_CORE, 1.8),
)
ROUNDS = 5
Call = Callable[[], object]


@dataclass
class Timed:
    """One way to compute: samples in ms by length, and how far its patterns are off."""

    samples: dict[int, list[float]] = field(default_factory=dict)
    off: float | None = None

    def p10(self, length):
        return float(np.percentile(self.samples[length], 10))


def with_core(core: Core, call: Call) -> Call:
    """The call with one of the two cores; the choice itself is made once a process."""

    def chosen():
        CHOICE._made = core
        return call()

    return chosen


@cache
def cores() -> dict[str, Core]:
    """By name, before any of them is chosen."""
    found = capture.capture_core()
    chosen = {TORCH_CORE: Core("torch", "asked for")}
    return {C_CORE: found, **chosen} if found.native is not None else chosen


# ------------------------------------------------------------------ what is timed


def core_calls(length: int) -> tuple[dict[str, Call], Tensor]:
    """From q, k and v as a projection leaves them to z and the patterns; and the exact pattern."""
    generator = torch.Generator().manual_seed(0)
    q, k, v = (
        torch.randn(1, length, WIDTH, generator=generator)
        .view(1, length, HEADS, HEAD_DIM)
        .transpose(1, 2)
        for _ in range(3)
    )
    scale = HEAD_DIM**-0.5
    later = torch.ones(length, length, dtype=torch.bool).triu(1)
    added = torch.zeros(length, length).masked_fill(later, torch.finfo(torch.float32).min)

    def batched():
        scores = ((q * scale) @ k.transpose(-2, -1)).masked_fill(later, -torch.inf)
        pattern = softmax(scores, dim=-1)
        return pattern @ v, pattern

    def eager():
        scores = q @ k.transpose(-2, -1) * scale + added
        pattern = softmax(scores, dim=-1)
        return pattern @ v, pattern

    def triangle():
        return capture.attend(q, k, v, scale=scale, need_pattern=True)

    def sdpa():
        return scaled_dot_product_attention(q, k, v, is_causal=True), None

    def packed():
        return capture.attend_packed(q, k, v, scale=scale)

    calls: dict[str, Call] = {BATCHED: batched, "batched, mask added": eager, PACKED: packed}
    calls |= {name: with_core(core, triangle) for name, core in cores().items()}
    exact = (q.double() @ k.double().transpose(-2, -1) * scale).masked_fill(later, -torch.inf)
    return {**calls, SDPA: sdpa}, exact.softmax(dim=-1)


def layer_calls(length: int) -> tuple[dict[str, Call], Tensor]:
    """From x to the output after W_O and the patterns; and the exact pattern."""
    config = AttentionConfig.total(WIDTH, WIDTH, HEADS, length, qkv_bias=True)
    weights = HeadWeights.init(config, generator=torch.Generator().manual_seed(0))
    x = torch.randn(1, length, WIDTH, generator=torch.Generator().manual_seed(1))
    blocked = torch.ones(length, length, dtype=torch.bool).triu(1)
    multihead = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True).eval()
    multihead.load_state_dict(torch_state(weights, config))

    def own(name, need_pattern=True):
        module = build_attention(name, config, weights)
        return lambda: module(x, need_pattern=need_pattern)

    def torchs_own():
        return multihead(x, x, x, attn_mask=blocked, average_attn_weights=False)

    calls = {BATCHED: own("batched"), "fused": own("fused"), "nn.MultiheadAttention": torchs_own}
    triangle = own("capture")
    calls |= {name: with_core(core, triangle) for name, core in cores().items()}
    sdpa = own("sdpa", need_pattern=False)
    exact = build_attention("batched", config, weights, dtype=torch.float64)
    pattern = exact(x.double(), need_pattern=True)[1]
    return {**calls, SDPA: lambda: (sdpa(), None)}, pattern


def torch_state(weights: HeadWeights, config: AttentionConfig) -> dict[str, Tensor]:
    fused = weights.to_state_dict("fused")
    return {
        "in_proj_weight": fused["W_qkv.weight"],
        "in_proj_bias": fused["W_qkv.bias"],
        "out_proj.weight": fused["out_proj.weight"],
        "out_proj.bias": fused["out_proj.bias"],
    }


def gpt2_shaped(length: int, vocab_size: int) -> LanguageModel:
    config = ModelConfig(
        vocab_size=vocab_size,
        num_layers=12,
        d_mlp=2048,  # three matrices of it are as many parameters as GPT-2's two of 3,072
        attention=AttentionConfig.total(WIDTH, WIDTH, HEADS, length, qkv_bias=True),
    )
    torch.manual_seed(0)
    return LanguageModel(config).eval()


def model_calls(model: LanguageModel, length: int, *, read_out: bool) -> dict[str, Call]:
    """Twelve blocks, the patterns of all 144 heads held until the end; with or without read-out."""
    ids = torch.arange(length)[None]

    def forward(name, need_pattern):
        layers = model.attention_layers(name)

        def call():
            kept: list[LayerObservation] = []
            watch = kept.append if need_pattern else None
            if read_out:
                model(ids, attention=layers, watch=watch, need_pattern=need_pattern)
            else:
                model.stream(ids, layers, watch=watch, need_pattern=need_pattern)
            return kept

        return call

    calls = {BATCHED: forward("batched", True)} if read_out else {}
    triangle = forward("capture", True)
    calls |= {name: with_core(core, triangle) for name, core in cores().items()}
    return {**calls, SDPA: forward("sdpa", False)}


# ------------------------------------------------------------------ timing


def measure(make, lengths: list[int], threads: int, seconds: float) -> dict[str, Timed]:
    """Every way at every length, in turns."""
    found: dict[str, Timed] = {}
    torch.set_num_threads(threads)
    for length in lengths:
        with torch.inference_mode():
            calls, exact = make(length)
            for name, call in calls.items():
                pattern = call()[1]
                entry = found.setdefault(name, Timed())
                if isinstance(pattern, capture.PackedPattern):
                    pattern = pattern.dense()
                if pattern is not None:
                    off = float((pattern.double() - exact).abs().max())
                    entry.off = max(off, entry.off or 0.0)
            del exact, pattern
        for name, samples in timed(calls, threads, seconds).items():
            found[name].samples[length] = samples
    return found


def timed(calls, threads, seconds):
    # One thread by its own CPU time, which other programs do not lengthen.
    clock = thread_time if threads == 1 else perf_counter
    return time_interleaved(
        calls, device="cpu", threads=threads, rounds=ROUNDS, min_run_time=seconds, clock=clock
    )


# ------------------------------------------------------------------ the report


def table(title: str, found: dict[str, Timed], lengths: list[int]) -> None:
    click.echo(f"\n{title}: p10 (median) in ms, times as fast as batched\n")
    click.echo(f"| | {' | '.join(f'T = {n}' for n in lengths)} | patterns off by |")
    click.echo("|---" * (len(lengths) + 2) + "|")
    base = found.get(BATCHED)
    for name, entry in found.items():
        cells = []
        for length in lengths:
            p10, median = entry.p10(length), float(np.median(entry.samples[length]))
            ratio = "" if base is None else f", {base.p10(length) / p10:.2f}×"
            cells.append(f"{p10:.4g} ({median:.4g}){ratio}")
        off = "–" if entry.off is None else f"{entry.off:.1e}"
        click.echo(f"| {name} | {' | '.join(cells)} | {off} |")


def aims(found: dict[str, Timed], lengths: list[int], threads: int) -> None:
    """Those of the core, in the same run."""
    for length, name, least in AIMS:
        if length in lengths and name in found:
            ratio = found[BATCHED].p10(length) / found[name].p10(length)
            say(f"{name} at {length}, {threads} thread(s)", ratio, ratio >= least, least)
    worst = max(entry.off for entry in found.values() if entry.off is not None)
    click.echo(f"- patterns off float64 by at most {worst:.1e} of 1e-6: {verdict(worst <= 1e-6)}")


def say(what: str, ratio: float, met: bool, limit: float) -> None:
    click.echo(f"- {what}: {ratio:.2f} of {limit}: {verdict(met)}")


def verdict(met: bool) -> str:
    return "met" if met else "not met"


def report_model(length: int, vocab_size: int, threads: int, seconds: float) -> None:
    model = gpt2_shaped(length, vocab_size)
    for read_out in (True, False):
        what = "whole forward" if read_out else "its 12 blocks alone"
        calls = model_calls(model, length, read_out=read_out)
        samples = timed(calls, threads, seconds)
        found = {name: Timed({length: times}) for name, times in samples.items()}
        table(f"GPT-2 small's shape, {what}, {threads} thread(s)", found, [length])
        click.echo()
        for name in cores():
            ratio = found[name].p10(length) / found[SDPA].p10(length)
            say(f"{name}, all patterns, {what}, of SDPA's time", ratio, ratio <= 1.15, 1.15)


def numbers(_context, _option, value: str) -> list[int]:
    return [int(part) for part in value.split(",")]


@click.command()
@click.option("--lengths", default="64,256,1024,2048", callback=numbers, show_default=True)
@click.option("--threads", default="1,2", callback=numbers, show_default=True)
@click.option("--seconds", default=0.8, show_default=True, help="For each way at each length.")
@click.option("--model/--no-model", default=True, show_default=True)
@click.option("--model-length", default=1024, show_default=True)
@click.option("--vocab-size", default=50_257, show_default=True)
def main(lengths, threads, seconds, model, model_length, vocab_size) -> None:
    """Time, compare and print."""
    click.echo(
        f"{cpu_model()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; cpu, float32"
    )
    click.echo(f"torch {torch.__version__}, Python {platform.python_version()}")
    click.echo(f"{capture.capture_core()}; {HEADS} heads of {HEAD_DIM}, batch 1")
    for count in threads:
        found = measure(core_calls, lengths, count, seconds)
        table(f"Core, {count} thread(s)", found, lengths)
        click.echo()
        aims(found, lengths, count)
        table(f"Layer, {count} thread(s)", measure(layer_calls, lengths, count, seconds), lengths)
    if model:
        report_model(model_length, vocab_size, max(threads), seconds)


if __name__ == "__main__":
    main()
