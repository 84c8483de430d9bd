"""What measurements say, in numbers and in sentences computed from them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from attention.benchmark.fit import Line, fit
from attention.benchmark.measurement import Measurement
from attention.benchmark.numbers import heads_written, number
from attention.benchmark.settings import BenchmarkSettings
from attention.benchmark.units import in_percent
from attention.benchmark.why import why_the_loop_wins
from attention.implementations import IMPLEMENTATIONS

__all__ = ["Row", "crossover", "lines", "number", "rows", "sentences"]
LOOP, BATCH, BOOK = "looped", "batched", "looped_book"
CLEAR = 0.05  # a smaller difference, as a share of the batch's time, is called none
TOLD_FAILURES = 2  # more reasons than that stand in the table
NO_SLOPE_MS = 5e-4


@dataclass(frozen=True)
class Row:
    """All implementations at one head count.

    Attributes:
        num_heads: query heads.
        by_name: the measurement of each implementation.
    """

    num_heads: int
    by_name: dict[str, Measurement]

    @property
    def ratio(self) -> float | None:
        """The loop's median over the batch's; None unless both were timed."""
        loop, batch = self.by_name.get(LOOP), self.by_name.get(BATCH)
        if loop is None or batch is None or not (loop.ok and batch.ok):
            return None
        return loop.median / batch.median

    @property
    def ratio_p10(self) -> float | None:
        """The same of the quickest tenths, which other programs disturb less."""
        if self.ratio is None:
            return None
        return self.by_name[LOOP].p10 / self.by_name[BATCH].p10

    @property
    def loop_wins(self) -> bool:
        """Whether the loop is clearly faster, by its median and by its quickest tenth.

        On a disturbed machine only when nearly all its samples are below nearly all of the
        batch's.
        """
        if self.ratio is None or self.ratio_p10 is None:
            return False
        if self.disturbed and self.by_name[LOOP].p90 >= self.by_name[BATCH].p10:
            return False
        return max(self.ratio, self.ratio_p10) <= 1 - CLEAR

    @property
    def disturbed(self) -> bool:
        """Whether other programs disturbed it."""
        return any(m.disturbed is not None for m in self.by_name.values())


def rows(measurements: Iterable[Measurement]) -> list[Row]:
    """The measurements by head count, rising; the last one counts where there are several."""
    table: dict[int, dict[str, Measurement]] = {}
    for m in measurements:
        table.setdefault(m.num_heads, {})[m.implementation] = m
    return [Row(num_heads, table[num_heads]) for num_heads in sorted(table)]


def lines(settings: BenchmarkSettings, table: Sequence[Row]) -> dict[str, Line]:
    """The straight line of each implementation that has at least two points."""
    fits = {
        name: fit(row.by_name[name] for row in table if name in row.by_name)
        for name in settings.implementations
    }
    return {name: line for name, line in fits.items() if line is not None}


def crossover(table: Sequence[Row]) -> float | None:
    """The head count at which loop and batch change places; None where one is always ahead.

    None as well where they change places more than once: no head count parts those of the loop
    from those of the batch. Between two head counts at which the loop clearly wins and clearly
    loses, as if times grew evenly from one to the other.
    """
    compared = [row for row in table if row.loop_wins or (row.ratio or 0) >= 1 + CLEAR]
    changes = [pair for pair in pairwise(compared) if pair[0].loop_wins != pair[1].loop_wins]
    if len(changes) != 1:
        return None
    [(before, after)] = changes
    lead, later = _lead(before), _lead(after)
    share = lead / (lead - later)
    return before.num_heads + share * (after.num_heads - before.num_heads)


def sentences(settings: BenchmarkSettings, table: Sequence[Row]) -> list[str]:
    """What to read off the measurements, the most important first.

    Returns:
        no sentence for what was not measured yet.
    """
    said = [_cost_of_a_head(settings, lines(settings, table)), _at_most_heads(table)]
    said += [_where_the_loop_wins(table), why_the_loop_wins(settings, best_of_the_loop(table))]
    said += [_the_masks_cost(table), _limit(table)]
    said += [_disturbed(settings, table), _far_out(table), _partly_checked(settings, table)]
    said += _failures(table)
    return list(dict.fromkeys(sentence for sentence in said if sentence))


def _title(name: str) -> str:
    return IMPLEMENTATIONS[name].title


def _slope(name: str, line: Line) -> str:
    fitness = "" if line.r_squared is None else f"R² {line.r_squared:.3f}"
    who, amount = f"the {_title(name).lower()}", f"{number(line.slope)} ms"
    if line.slope >= NO_SLOPE_MS:
        return f"{who} {amount} ({fitness})" if fitness else f"{who} {amount}"
    return f"{who} nothing measurable ({', '.join(filter(None, (amount, fitness)))})"


def _cost_of_a_head(settings: BenchmarkSettings, found: dict[str, Line]) -> str | None:
    costs = [_slope(name, found[name]) for name in (LOOP, BATCH) if name in found]
    if not costs:
        return None
    if settings.reading == "total":
        start = f"With the total width fixed at {settings.width}, each head added costs"
    else:
        start = f"With {settings.width} features a head the layer itself grows: each head costs"
    return f"{start} {' and '.join(costs)}."


def _at_most_heads(table: Sequence[Row]) -> str | None:
    compared = [row for row in table if row.ratio is not None]
    if not compared:
        return None
    row = compared[-1]
    assert row.ratio is not None  # only such rows are compared
    loop, batch = row.by_name[LOOP], row.by_name[BATCH]
    times = f"{number(loop.median)} ms against {number(batch.median)} ms"
    where = heads_written(row.num_heads)
    if abs(row.ratio - 1) < CLEAR:
        return f"At {where} loop and batch take the same time: {times}."
    if row.ratio > 1:
        return f"At {where} the loop takes {number(row.ratio)}× as long: {times}."
    return f"At {where} the loop takes only {number(row.ratio)}× as long: {times}."


def _where_the_loop_wins(table: Sequence[Row]) -> str | None:
    best = best_of_the_loop(table)
    if best is None or best.ratio is None:
        return None
    won = [row for row in table if row.loop_wins]
    counts = ", ".join(str(row.num_heads) for row in won)
    amount = f"{number(_lead(best))} ms ({1 - best.ratio:.0%})"
    if len(won) == 1:
        return f"The loop wins at {heads_written(best.num_heads)}, by {amount}."
    return f"The loop wins at {counts} heads, by up to {amount} at {best.num_heads}."


def _lead(row: Row) -> float:
    return row.by_name[BATCH].median - row.by_name[LOOP].median


def best_of_the_loop(table: Sequence[Row]) -> Row | None:
    """Where the loop wins by most; None where it does not."""
    return max((row for row in table if row.loop_wins), key=_lead, default=None)


def _the_masks_cost(table: Sequence[Row]) -> str | None:
    """What the book's float mask costs, apart from the loop; at the most heads."""
    for row in reversed(table):
        book, loop = row.by_name.get(BOOK), row.by_name.get(LOOP)
        if book is not None and loop is not None and book.ok and loop.ok:
            cost = book.median - loop.median
            if cost < CLEAR * loop.median:
                return (
                    f"The book's mask costs nothing measurable at {heads_written(row.num_heads)}: "
                    f"{number(book.median)} ms against {number(loop.median)} ms."
                )
            return (
                f"Of the book's loop at {heads_written(row.num_heads)}, {number(cost)} ms of "
                f"{number(book.median)} ms are its float mask, converted in every head: "
                "the mask's cost, not the loop's."
            )
    return None


def _disturbed(settings: BenchmarkSettings, table: Sequence[Row]) -> str | None:
    hollow = [row.num_heads for row in table if row.disturbed]
    if not hollow:
        return None
    counts = ", ".join(map(str, hollow))
    found = lines(settings, table)
    used = any(line.disturbed for line in found.values())
    what = "the fit uses them for want of quiet ones" if used else "the fit leaves them out"
    noun = "head" if hollow == [1] else "heads"
    told = f"Other programs disturbed the times at {counts} {noun}"
    return f"{told}: {what}." if found else f"{told}."


def _limit(table: Sequence[Row]) -> str | None:
    """How near each comes to plain matrix products, at the most heads that nobody disturbed."""
    for row in reversed(table):
        if row.disturbed:  # a busy machine gave the loop 4602% of the products' rate
            continue
        shares = [
            f"{_title(name)} {in_percent(m.share)}"
            for name, m in row.by_name.items()
            if m.share is not None
        ]
        if shares:
            return (
                f"Of the FLOP/s of plain matrix products of the same shapes, at "
                f"{heads_written(row.num_heads)}: {'; '.join(shares)}."
            )
    return None


def _far_out(table: Sequence[Row]) -> str | None:
    left_out = [
        f"{len(m.far_out)} of {len(m.samples)} of {_title(m.implementation)} at "
        f"{heads_written(m.num_heads)} ({_as_long_as(m.far_out)})"
        for row in table
        for m in row.by_name.values()
        if m.far_out
    ]
    if not left_out:
        return None
    return (
        "Samples far out, as when a laptop sleeps or the system stands still, are left out: "
        f"{'; '.join(left_out)}."
    )


def _as_long_as(samples: Sequence[float]) -> str:
    """One sample, or the range of several: a busy machine makes dozens."""
    least, most = number(min(samples)), number(max(samples))
    return f"{most} ms" if least == most else f"{least} to {most} ms"


def _partly_checked(settings: BenchmarkSettings, table: Sequence[Row]) -> str | None:
    """Where the text was too long to compute whole in float64."""
    checked = (m.checked_tokens for row in table for m in row.by_name.values())
    parts = {tokens for tokens in checked if tokens is not None}
    if not parts:
        return None
    return (
        f"A text of {settings.seq_len:,} tokens is too long to compute whole in float64 here: "
        f"compared with it were the first {', '.join(f'{n:,}' for n in sorted(parts))} tokens, and "
        "single rows of the rest."
    )


def _failures(table: Sequence[Row]) -> list[str]:
    """Why there is no time; where many reasons differ, in sizes mostly, the first one."""
    failed = [(row, m.error) for row in table for m in row.by_name.values() if m.error is not None]
    reasons = list(dict.fromkeys(error for _, error in failed))
    if len(reasons) <= TOLD_FAILURES:
        return reasons
    counts = dict.fromkeys(row.num_heads for row, _ in failed)
    first, *_ = counts
    return [
        f"Something has no time at {', '.join(map(str, counts))} heads. At {heads_written(first)}: "
        f"{reasons[0]} The other reasons are among the table's notes."
    ]
