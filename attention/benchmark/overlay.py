"""Lays two runs over each other: my laptop against the lab's GPU."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

from attention.benchmark.imported import Run
from attention.benchmark.measurement import Measurement
from attention.benchmark.settings import BenchmarkSettings
from attention.benchmark.summary import Row, number, rows
from attention.implementations import IMPLEMENTATIONS

# What may differ without another layer or pass being measured.
HOW = ("heads", "implementations", "min_run_time", "rounds", "patience", "seed")
WHERE = ("device", "dtype", "threads", "allocator", "l2", "compiled")  # the environment tells it


@dataclass(frozen=True)
class Pair:
    """One implementation at one head count in both runs, timed in each."""

    here: Measurement
    there: Measurement

    @property
    def ratio(self) -> float:
        """The time there over the time here."""
        return self.there.median / self.here.median


def pairs(table: Sequence[Row], run: Run) -> list[Pair]:
    """What both runs timed, by head count and implementation."""
    there = {row.num_heads: row.by_name for row in rows(run.measurements)}
    found = [
        Pair(m, other)
        for row in table
        for name, m in row.by_name.items()
        if (other := there.get(row.num_heads, {}).get(name)) is not None
    ]
    return [pair for pair in found if pair.here.ok and pair.there.ok]


def differing(here: BenchmarkSettings, there: BenchmarkSettings) -> list[str]:
    """The settings by which the two runs measured another layer or pass.

    Returns:
        for each "seq_len 1024 (here 64)"; empty when the same was measured.
    """
    names = [f.name for f in fields(here) if f.name not in (*HOW, *WHERE)]
    return [
        f"{name} {getattr(there, name)} (here {getattr(here, name)})"
        for name in names
        if getattr(here, name) != getattr(there, name)
    ]


def comparison(settings: BenchmarkSettings, table: Sequence[Row], run: Run) -> list[str]:
    """What to read off the two runs, in sentences computed from them."""
    name, found = run.environment.name, pairs(table, run)
    said = []
    if others := differing(settings, run.settings):
        said.append(f"{name} measured something else: {', '.join(others)}.")
    if not found:
        return [*said, f"No head count and implementation was timed both here and on {name}."]
    most = max(pair.here.num_heads for pair in found)
    times = [
        f"{IMPLEMENTATIONS[pair.here.implementation].title} {number(pair.there.median)} ms against "
        f"{number(pair.here.median)} ms here ({number(pair.ratio)}×)"
        for pair in found
        if pair.here.num_heads == most
    ]
    heads = f"{most} {'head' if most == 1 else 'heads'}"
    return [*said, f"At {heads} on {name}: {', '.join(times)}."]
