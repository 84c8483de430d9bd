"""Run, and all patterns available: ours, `transformers`, TransformerLens: time and peak memory.

`python -m tests.bench.peers.runs` (in .venv-peers) opens one model of GPT-2's size in a fresh
process for every way and length. Its first run of the text gives the peak of its memory over what
it held before, and what all must agree on; then the processes take turns, and the median counts.
"""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import numpy as np

from tests.bench.peers import figures
from tests.bench.peers.model import HEADS, LAYERS, VOCAB, gpt2_size, ids_of
from tests.bench.peers.modest import allowance
from tests.bench.peers.ways import EAGER, READ, RECORD, WAYS
from tests.browser.server import ROOT

ROUNDS = {64: 15, 256: 9, 1024: 5, 2048: 3}
FEWEST_ROUNDS = 2
START_S = 180
APART = {"logits": 2e-3, "patterns": 1e-4}  # what float32 and another order of adding explain
FASTER, SMALLER, FROM = 2.0, 0.1, 1024  # the aim


class GaveUpError(Exception):
    """A point that has no figure; its text says why."""


@dataclass
class Point:
    """One way at one length.

    Attributes:
        ms: of each run.
        first: ms of the first, which counts only where there is no other.
        growth: peak of the first run over what was held before it, bytes.
        why: there is none.
        apart: largest difference of the logits and of the patterns from the reference's.
    """

    ms: list[float] = field(default_factory=list)
    growth: float | None = None
    first: float | None = None
    why: str = ""
    apart: dict[str, float] = field(default_factory=dict)

    @property
    def median(self) -> float | None:
        return None if self.why else figures.percentile(self.ms or [self.first], 50)

    @property
    def told(self) -> str:
        """The time, or why there is none."""
        alone = " (first run)" if not self.ms and self.median is not None else ""
        return self.why or figures.milliseconds(self.median) + alone


class Worker:
    """A process of `worker.py`."""

    def __init__(self, way: str, folder: Path, threads: int) -> None:
        command = [sys.executable, "-m", "tests.bench.peers.worker", way, str(folder)]
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - as long as the process
        self.process = subprocess.Popen(
            [*command, str(threads), str(allowance())],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )
        self._answer(START_S)

    def ask(self, told: dict[str, Any], limit_s: float) -> dict[str, float]:
        """Have a text run.

        Raises:
            GaveUpError: when that takes too long, or ends the process.
        """
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(told) + "\n")
        self.process.stdin.flush()
        return self._answer(limit_s)

    def _answer(self, limit_s: float) -> dict[str, Any]:
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], limit_s)[0]:
            self.stop()
            raise GaveUpError(f"gave up after {limit_s:.0f} s")
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            raise GaveUpError(self._last_words())
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _last_words(self) -> str:
        self.log.seek(0)
        told = self.log.read()
        memory = ("MemoryError", "can't allocate memory", "not enough memory", "bad_alloc")
        killed = self.process.returncode == -signal.SIGKILL
        if killed or any(word in told for word in memory):
            return "ran out of memory"
        return f"ended: {(told.splitlines() or ['without a word'])[-1][:120]}"

    def stop(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()
        self.log.close()


@dataclass(frozen=True)
class Options:
    """What is asked for: see `main`."""

    folder: Path
    threads: int
    limit: float
    ways: list[str]


def measure(length: int, options: Options) -> dict[str, Point]:
    """Every way at one length."""
    ids = ids_of(length)
    points: dict[str, Point] = {way: Point() for way in options.ways}
    workers: dict[str, Worker] = {}
    try:
        with tempfile.TemporaryDirectory() as kept:
            for way, point in points.items():
                sample = Path(kept) / f"{way}.npz"
                try:
                    require_memory(way, length)
                    workers[way] = Worker(way, options.folder, options.threads)
                    taken = workers[way].ask({"ids": ids, "sample": str(sample)}, options.limit)
                    point.growth, point.first = taken["growth"], taken["ms"]
                except GaveUpError as error:
                    point.why = str(error)
                    continue
            compare(points, Path(kept))
        for _ in range(ROUNDS.get(length, FEWEST_ROUNDS)):
            for way, point in points.items():
                if not point.why:
                    _time(point, workers[way], {"ids": ids}, options.limit)
    finally:
        for worker in workers.values():
            worker.stop()
    return points


def _time(point: Point, worker: Worker, told: dict[str, Any], limit: float) -> None:
    """Once more, if what it took at first is still free."""
    if point.growth is not None and point.growth > allowance():
        return
    try:
        point.ms.append(worker.ask(told, limit)["ms"])
    except GaveUpError as error:
        point.why = str(error)


def require_memory(way: str, length: int) -> None:
    """Refuse what would not fit.

    Raises:
        GaveUpError: with what it would need.
    """
    needed = WAYS[way].needed(length, (LAYERS, HEADS, VOCAB))
    if needed > allowance():
        raise GaveUpError(f"not tried: would need {needed / 1e9:.0f} GB")


def compare(points: dict[str, Point], kept: Path) -> None:
    """Hold every way to the first that has patterns.

    Raises:
        click.ClickException: when one says something else.
    """
    there = {way: kept / f"{way}.npz" for way in points if (kept / f"{way}.npz").exists()}
    read = {way: dict(np.load(path)) for way, path in there.items()}
    reference = next((found for found in read.values() if "patterns" in found), None)
    if reference is None:
        return
    for way, found in read.items():
        for name, values in found.items():
            apart = float(np.abs(values - reference[name]).max())
            points[way].apart[name] = apart
            if not apart <= APART[name]:
                raise click.ClickException(f"{WAYS[way].title}: {name} are {apart:.1e} apart.")


def rows(length: int, points: dict[str, Point]) -> list[list[str]]:
    """Of the table, with ratios to `transformers` with attentions."""
    base = points.get(EAGER, Point())
    made = []
    for way, point in points.items():
        ms, growth = point.median, point.growth
        faster = figures.times_as_much(ms, base.median)
        less = figures.times_as_much(growth, base.growth)
        made.append(
            [
                *(f"{length:,}", WAYS[way].title),
                point.told,
                "" if point.why else figures.times(faster),
                figures.megabytes(growth),
                "" if growth is None else figures.times(less),
                *(f"{point.apart[n]:.0e}" if n in point.apart else "" for n in APART),
            ]
        )
    return made


def aims(length: int, points: dict[str, Point]) -> list[str]:
    """Whether they are met at this length, a line each."""
    if length < FROM or EAGER not in points:
        return []
    said, base = [], points[EAGER]
    for way in (RECORD, READ):
        point = points.get(way, Point())
        faster = figures.times_as_much(point.median, base.median)
        share = figures.times_as_much(base.growth, point.growth)
        met = None if faster is None or share is None else faster >= FASTER and share <= SMALLER
        told = "" if faster is None or share is None else (
            f"{figures.times(faster)} as fast, {share:.3f} of the growth: "
        )  # fmt: skip
        said.append(f"- (a) T = {length:,}, {WAYS[way].title}: {told}{figures.verdict(met)}")
    return said


HEADER = [
    *("T", "way", "time", "times as fast"),
    *("peak growth", "times less", "logits apart", "patterns apart"),
]


@click.command()
@click.option("--lengths", default="64,256,1024,2048,4096", show_default=True)
@click.option("--ways", default=",".join(WAYS), show_default=True)
@click.option("--threads", default=os.cpu_count() or 1, show_default=True)
@click.option("--limit", default=300.0, show_default=True, help="Seconds a run; more is given up.")
def main(lengths: str, ways: str, threads: int, limit: float) -> None:
    """Run, compare and print a table."""
    options = Options(gpt2_size(), threads, limit, ways.split(","))
    click.echo(f"{figures.machine(threads)}; CPU, float32\n")
    table, said = [], []
    for length in (int(n) for n in lengths.split(",")):
        points = measure(length, options)
        table += rows(length, points)
        said += aims(length, points)
        for row in rows(length, points):
            click.echo("  ".join(row), err=True)
    click.echo(figures.table(HEADER, table))
    click.echo("\n" + "\n".join(said))


if __name__ == "__main__":
    main()
