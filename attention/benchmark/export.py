"""Measurements as files: CSV with a row each, JSON with everything."""

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from attention.benchmark.environment import Environment
from attention.benchmark.measurement import Measurement
from attention.benchmark.settings import BenchmarkSettings
from attention.benchmark.summary import lines, rows, sentences

FORMAT, VERSION = "headscope-bench", 2  # of the JSON file; `imported` reads this version only
# A list of numbers a line each: a GPU's samples made files that were too large to be read again.
# A line end is in no text of JSON, so that this is never within one.
NUMBERS = re.compile(r"\[\n[-+.\deE,\s]+\]")
# The settings that tell rows of several files apart.
SETTINGS_COLUMNS = (
    "reading", "d_in", "num_kv_heads", "seq_len", "context_length", "batch", "passes", "device",
    "dtype", "threads", "allocator", "compiled", "l2",
)  # fmt: skip
COLUMNS = (
    "num_heads", "implementation", "head_dim", "d_out", "median_ms", "p10_ms", "p90_ms",
    "samples", "far_out", "ratio_to_batched", "flops", "moved_bytes", "gflops_per_s",
    "share_of_plain_products", "limit_ms", "least_ms", "peak_bytes", "operators", "kernels",
    "faults", "compile_s", "output_difference", "pattern_difference", "gradient_difference",
    "gradient_of", "tolerance", "equal", "checked_tokens", "disturbed", "error", "impossible",
    "weights", "output",
)  # fmt: skip


def to_csv(settings: BenchmarkSettings, measurements: Iterable[Measurement]) -> str:
    """A header and a row for each measurement; empty cells for what there is not."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*COLUMNS, *SETTINGS_COLUMNS])
    for row in rows(measurements):
        batched = row.by_name.get("batched")
        base = batched.median if batched is not None and batched.ok else None
        writer.writerows(
            [*_cells(m, base), *_settings_cells(settings, m)] for m in row.by_name.values()
        )
    return text.getvalue()


def to_json(
    settings: BenchmarkSettings, environment: Environment, measurements: Sequence[Measurement]
) -> str:
    """Settings, environment, every sample, the straight lines and what they say."""
    table = rows(measurements)
    content = {
        "format": FORMAT,
        "version": VERSION,
        "settings": settings.to_json(),
        "environment": environment.to_json(),
        "measurements": [m.to_json() for row in table for m in row.by_name.values()],
        "lines": {
            name: {
                "slope_ms_per_head": line.slope,
                "intercept_ms": line.intercept,
                "r_squared": line.r_squared,
                "points": line.points,
                "uses_disturbed_points": line.disturbed,
            }
            for name, line in lines(settings, table).items()
        },
        "ratios_looped_to_batched": {
            str(row.num_heads): row.ratio for row in table if row.ratio is not None
        },
        "sentences": sentences(settings, table),
    }
    text = json.dumps(_finite(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return NUMBERS.sub(lambda numbers: " ".join(numbers[0].split()), text)


def _finite(content: Any) -> Any:  # noqa: ANN401 - any plain value
    """The same with null for what is no number, such as the difference from a NaN.

    Other numbers keep nine figures: nanoseconds of a second.
    """
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    if not isinstance(content, float):
        return content
    return float(f"{content:.9g}") if math.isfinite(content) else None


def _cells(m: Measurement, batched_median: float | None) -> list[object]:
    times: list[object] = [m.median, m.p10, m.p90] if m.samples else [None, None, None]
    ratio = m.median / batched_median if m.ok and batched_median is not None else None
    return [
        m.num_heads,
        m.implementation,
        m.head_dim,
        m.d_out,
        *times,
        len(m.samples),
        len(m.far_out),
        ratio,
        m.flops,
        m.moved_bytes,
        m.flops_per_second / 1e9 if m.flops_per_second is not None else None,
        m.share,
        m.limit_ms,
        m.least_ms,
        m.peak_bytes,
        m.operators,
        m.kernels,
        m.faults,
        m.compile_s,
        m.output_difference,
        m.pattern_difference,
        m.gradient_difference,
        m.gradient_of,
        m.tolerance,
        m.equal,
        m.checked_tokens,
        m.disturbed,
        m.error,
        m.impossible,
        "; ".join(m.weights),
        m.output,
    ]


def _settings_cells(settings: BenchmarkSettings, m: Measurement) -> list[object]:
    config = settings.config(m.num_heads)
    sizes = {"d_in": config.d_in, "num_kv_heads": config.num_kv_heads}
    return [sizes.get(name, getattr(settings, name)) for name in SETTINGS_COLUMNS]
