"""What one pass over each layer's patterns costs, beside the two passes that it replaced.

`python -m tests.bench.scan` scores and pools every head of 12 layers × 12 heads in one pass a
layer and in two, as they once were (kept below as a plain reference), and prints a Markdown table
of the times and of their ratio. The ways take turns, so that what else the machine does falls on
all alike. About five minutes; `--lengths 64` takes seconds.
"""

import os
import platform
from math import isqrt

import click
import numpy as np
import torch
from torch.nn.functional import pad

from attention import capture
from attention.benchmark.environment import cpu_model
from attention.layer_record import LayerRecord, PatternRule
from attention.layer_scan import scan_layer, scan_layers
from attention.record import RunRecord
from attention.scores import head_scores
from attention.scores.current_token import current_token
from attention.scores.duplicate_token import duplicate_token
from attention.scores.first_token import first_token
from attention.scores.induction import induction
from attention.scores.previous_token import previous_token
from attention.timing import time_interleaved
from attention.tokens import Tokens

LAYERS, HEADS, HEAD_DIM, SIZE = 12, 12, 64, 64
TEMPLATES = {
    "previous_token": previous_token,
    "current_token": current_token,
    "first_token": first_token,
    "duplicate_token": duplicate_token,
    "induction": induction,
}
OLD_CELLS = 1 << 22
ROUNDS = 3


def a_record(seq_len):
    """Random heads on a text whose tokens come as often as words do (Zipf)."""
    generator = torch.Generator().manual_seed(0)
    ids = np.random.default_rng(0).zipf(1.3, seq_len) % 50_257
    layers = []
    for _ in range(LAYERS):
        q, k = (torch.randn(HEADS, seq_len, HEAD_DIM, generator=generator) for _ in "qk")
        layers.append(LayerRecord(q, k, k, PatternRule(HEAD_DIM**-0.5)))
    read_out = torch.zeros(seq_len, 2)
    return RunRecord(Tokens.from_ids(ids.tolist()), read_out, tuple(layers), "sdpa")


# ------------------------------------------------------------------ as it was


def old_blocks(seq_len, step):
    start = 0
    while start < seq_len:
        cells = OLD_CELLS // HEADS
        rows, within = max(1, (isqrt(start * start + 4 * cells) - start) // 2), start % step
        rows = min(rows, step - within) if within or rows < step else rows // step * step
        yield range(start, min(seq_len, start + rows))
        start += rows


def old_squares(weights, step):
    weights = pad(weights, (0, -weights.shape[2] % step)).unflatten(2, (-1, step)).amax(dim=3)
    return pad(weights, (0, 0, 0, -weights.shape[1] % step)).unflatten(1, (-1, step)).amax(dim=2)


def old_thumbnails(layer, *, hide_first=False):
    seq_len = layer.q.shape[1]
    step = -(-seq_len // SIZE)
    side = -(-seq_len // step)
    cells = torch.zeros(HEADS, side, side)
    for rows in old_blocks(seq_len, step):
        pattern = layer.seen(None, rows)
        if hide_first:
            pattern[..., 0] = 0
            pattern = pattern / pattern.sum(dim=-1, keepdim=True).clamp(min=1e-30)
        found = old_squares(pattern, step)
        here = (slice(None), slice(rows.start // step, rows.start // step + found.shape[1]))
        here = (*here, slice(found.shape[2]))
        cells[here] = torch.maximum(cells[here], found)
    return cells


def old_entropy(pattern, queries):
    later = queries > 0
    logs = pattern.clamp(min=torch.finfo(torch.float32).tiny).log_()
    entropy = logs.mul_(pattern).sum(dim=-1).neg_()
    return (entropy[:, later] / (queries[later] + 1).log()).sum(dim=-1), int(later.sum())


def old_scores(layer, ids):
    totals = {name: np.zeros(HEADS) for name in (*TEMPLATES, "entropy")}
    counts = dict.fromkeys(totals, 0)
    ids = torch.tensor(ids)
    for rows in old_blocks(len(ids), 1):
        pattern, seen = layer.seen(None, rows), ids[: rows.stop]
        queries = torch.arange(rows.start, rows.stop)
        for name, cells in TEMPLATES.items():
            chosen = cells(queries, seen)
            totals[name] += (pattern.flatten(1) @ chosen.flatten().float()).numpy()
            counts[name] += int(chosen.any(dim=1).sum())
        total, count = old_entropy(pattern, queries)
        totals["entropy"] += total.numpy()
        counts["entropy"] += count
    return {name: total / max(1, counts[name]) for name, total in totals.items()}


# ------------------------------------------------------------------ what is timed


def ways(record):
    """What is timed, by name: of each pair the old way first."""
    layers, ids, every = record.layers, record.tokens.ids, range(LAYERS)
    return {
        "two passes": lambda: [(old_thumbnails(t), old_scores(t, ids)) for t in layers],
        "one pass": lambda: list(scan_layers(record, every, size=SIZE)),
        "one pass, a layer a call": lambda: [scan_layer(record, i, size=SIZE) for i in every],
        "two, without first": lambda: [
            (old_thumbnails(t, hide_first=True), old_scores(t, ids)) for t in layers
        ],
        "one, without first": lambda: list(scan_layers(record, every, size=SIZE, hide_first=True)),
        "scores, once": lambda: [old_scores(t, ids) for t in layers],
        "scores, now": lambda: head_scores(record),
        "patterns alone": lambda: [
            t.seen(None, rows) for t in layers for rows in old_blocks(len(ids), 1)
        ],
    }


PAIRS = {
    "two passes": ("one pass", "one pass, a layer a call"),
    "two, without first": ("one, without first",),
    "scores, once": ("scores, now",),
}


def check(record):
    """Refuse to time what does not give the same."""
    expected, found = old_scores(record.layers[3], record.tokens.ids), head_scores(record)
    for name, scores in expected.items():
        if found[name].size and not np.isnan(found[name]).all():
            np.testing.assert_allclose(found[name][3], scores, rtol=1e-5, atol=1e-7)
    for hide in (False, True):
        pooled = scan_layer(record, 3, size=SIZE, hide_first=hide).thumbnails
        exact = old_thumbnails(record.layers[3], hide_first=hide)
        np.testing.assert_allclose(np.nan_to_num(pooled), exact, rtol=1e-5, atol=1e-7)


def numbers(_context, _option, value: str) -> list[int]:
    return [int(part) for part in value.split(",")]


@click.command()
@click.option("--lengths", default="64,256,1024,2048", callback=numbers, show_default=True)
@click.option("--threads", default="1,2", callback=numbers, show_default=True)
@click.option("--seconds", default=0.05, show_default=True, help="For each way at each length.")
@click.option("--native/--no-native", default=True, show_default=True)
def main(lengths, threads, seconds, native) -> None:
    """Check, time and print."""
    if not native:
        capture.use_native(False)
    click.echo(
        f"{cpu_model()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; cpu, float32"
    )
    click.echo(f"torch {torch.__version__}, Python {platform.python_version()}")
    click.echo(f"{capture.capture_core()}; {LAYERS} × {HEADS} heads of {HEAD_DIM}, size {SIZE}")
    for count in threads:
        click.echo(f"\n{count} thread(s), ms, the middle one (times the old way's speed)\n")
        for length in lengths:
            record = a_record(length)
            check(record)
            taken = time_interleaved(
                ways(record), device="cpu", threads=count, rounds=ROUNDS, min_run_time=seconds
            )
            middle = {name: float(np.median(times)) for name, times in taken.items()}
            before = {new: old for old, all_new in PAIRS.items() for new in all_new}
            for name, time in middle.items():
                ratio = f" ({middle[before[name]] / time:.2f}×)" if name in before else ""
                click.echo(f"| {length} | {name} | {time:.1f}{ratio} |")


if __name__ == "__main__":
    main()
