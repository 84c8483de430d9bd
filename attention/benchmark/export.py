"""Measurements as files: CSV with a row each, JSON with everything."""

import csv
import io
import json
from collections.abc import Iterable, Sequence

from attention.benchmark.environment import Environment
from attention.benchmark.measurement import Measurement
from attention.benchmark.settings import BenchmarkSettings
from attention.benchmark.summary import lines, rows, sentences

# The settings that tell rows of several files apart.
SETTINGS_COLUMNS = (
    "reading", "d_in", "seq_len", "batch", "passes", "device", "dtype", "threads", "allocator",
)  # fmt: skip
COLUMNS = (
    "num_heads", "implementation", "head_dim", "d_out", "median_ms", "p10_ms", "p90_ms",
    "samples", "ratio_to_batched", "output_difference", "pattern_difference", "tolerance",
    "equal", "disturbed", "error", "weights", "output",
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
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


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
        ratio,
        m.output_difference,
        m.pattern_difference,
        m.tolerance,
        m.equal,
        m.disturbed,
        m.error,
        "; ".join(m.weights),
        m.output,
    ]


def _settings_cells(settings: BenchmarkSettings, m: Measurement) -> list[object]:
    d_in = settings.config(m.num_heads).d_in
    values = {name: getattr(settings, name) for name in SETTINGS_COLUMNS if name != "d_in"}
    return [{**values, "d_in": d_in}[name] for name in SETTINGS_COLUMNS]
