"""What `bench` prints: a line for each head count, then what follows from them."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attention.benchmark import BenchmarkSettings, Measurement
    from attention.benchmark.imported import Run
    from attention.benchmark.summary import Row

NOTHING = "–"
CELL = 24  # characters of an implementation's column
# What is compared with float64; gradients only where there are some, relative to their largest.
DIFFERENCES = {"max |Δ|": "output_difference", "grad |Δ|": "gradient_difference"}


def layer_words(settings: "BenchmarkSettings") -> str:
    """What is measured, in one line."""
    from attention.benchmark.passes import PASSES

    if settings.reading == "total":
        width = f"total width d_out {settings.width}: head_dim shrinks as heads are added"
    else:
        width = f"d_out_per_head {settings.width}: the layer grows as heads are added"
    kind = PASSES[settings.passes]
    tokens = kind.tokens.format(settings.seq_len)
    return f"{kind.title.lower()}, batch {settings.batch}, {tokens}; {width}"


def table(settings: "BenchmarkSettings", found: "Iterator[Measurement]") -> Iterator[str]:
    """A line of titles, then a line for each head count as soon as it is measured."""
    from attention.benchmark.summary import rows

    titles = [f"{name} ms (p10–p90)" for name in settings.implementations]
    yield _columns("heads", "head_dim", titles, "loop/batch", *_compared(settings))
    for _, group in groupby(found, key=lambda m: m.num_heads):
        for row in rows(group):
            yield _line(settings, row)


def conclusion(settings: "BenchmarkSettings", found: "Sequence[Measurement]") -> Iterator[str]:
    """The straight lines, and the sentences computed from the measurements."""
    from attention.benchmark.summary import lines, number, rows, sentences

    measured = rows(found)
    yield from costs(settings, found)
    yield ""
    for name, line in lines(settings, measured).items():
        fitness = NOTHING if line.r_squared is None else f"{line.r_squared:.3f}"
        sign, base = "−" if line.intercept < 0 else "+", number(abs(line.intercept))
        yield f"{name}: {number(line.slope)} ms a head {sign} {base} ms, R² {fitness}"
    yield ""
    yield from sentences(settings, measured)


def costs(settings: "BenchmarkSettings", found: "Sequence[Measurement]") -> Iterator[str]:
    """Share of the limit, memory and operators of each point; nothing where none was counted."""
    from attention.benchmark.summary import rows

    if not any(m.limit_ms is not None or m.operators is not None for m in found):
        return
    yield ""
    yield "Share of the FLOP/s of plain matrix products, peak memory, operators (GPU kernels):"
    yield _columns("heads", "head_dim", list(settings.implementations))
    for row in rows(found):
        cells = [_cost(row.by_name.get(name)) for name in settings.implementations]
        yield _columns(str(row.num_heads), str(settings.config(row.num_heads).head_dim), cells)


def _cost(m: "Measurement | None") -> str:
    from attention.benchmark.units import in_bytes, in_percent

    if m is None or not m.ok:
        return NOTHING
    kernels = "" if m.kernels is None else f" ({m.kernels})"
    return ", ".join(
        (
            NOTHING if m.share is None else in_percent(m.share),
            NOTHING if m.peak_bytes is None else in_bytes(m.peak_bytes),
            NOTHING if m.operators is None else f"{m.operators}{kernels}",
            *(() if m.compile_s is None else (f"{m.compile_s:.1f} s to compile",)),
        )
    )


def side_by_side(
    settings: "BenchmarkSettings", found: "Sequence[Measurement]", run: "Run"
) -> Iterator[str]:
    """This run and one from a file, a column for each implementation, then what they say."""
    from attention.benchmark.overlay import comparison, pairs
    from attention.benchmark.summary import number, rows

    table = rows(found)
    timed = {(p.here.num_heads, p.here.implementation): p for p in pairs(table, run)}
    yield ""
    yield f"ms here | there, on {run.environment}:"
    yield _columns("heads", "head_dim", list(settings.implementations))
    for row in table:
        cells = []
        for name in settings.implementations:
            pair = timed.get((row.num_heads, name))
            cells.append(
                NOTHING
                if pair is None
                else f"{number(pair.here.median)} | {number(pair.there.median)} "
                f"({number(pair.ratio)}×)"
            )
        yield _columns(str(row.num_heads), str(settings.config(row.num_heads).head_dim), cells)
    yield ""
    yield from comparison(settings, table, run)


def formulas(settings: "BenchmarkSettings") -> Iterator[str]:
    """How FLOPs and bytes are worked out, at the most heads."""
    from attention.benchmark.explain import EXPLAINED, letters, steps

    num_heads = max(settings.heads)
    yield ""
    yield f"FLOPs and bytes by formula at {num_heads} heads; {letters(settings, num_heads)}:"
    yield from map(str, steps(settings, num_heads))
    yield EXPLAINED


def _line(settings: "BenchmarkSettings", row: "Row") -> str:
    from attention.benchmark.summary import number

    cells, head_dim = [], settings.config(row.num_heads).head_dim
    for name in settings.implementations:
        m = row.by_name.get(name)
        if m is None:  # stopped before it was measured
            cells.append(NOTHING)
            continue
        spread = f"{number(m.median)} ({number(m.p10)}–{number(m.p90)})" if m.ok else _no_time(m)
        cells.append(spread + (" *" if m.disturbed else ""))
    ratio = NOTHING if row.ratio is None else f"{number(row.ratio)}×"
    differences = [_difference(row, DIFFERENCES[title]) for title in _compared(settings)]
    return _columns(str(row.num_heads), str(head_dim), cells, ratio, *differences)


def _no_time(m: "Measurement") -> str:
    return "not possible" if m.impossible else "failed"


def _compared(settings: "BenchmarkSettings") -> list[str]:
    """The titles of DIFFERENCES that the pass has."""
    from attention.benchmark.passes import PASSES

    return list(DIFFERENCES)[: 2 if PASSES[settings.passes].gradients else 1]


def _difference(row: "Row", field: str) -> str:
    """The largest of any implementation."""
    found = [value for m in row.by_name.values() if (value := getattr(m, field)) is not None]
    return f"{max(found):.1e}" if found else NOTHING


def _columns(
    heads: str, head_dim: str, cells: Sequence[str], ratio: str = "", *differences: str
) -> str:
    middle = "  ".join(cell.rjust(CELL) for cell in cells)
    last = "  ".join(difference.rjust(8) for difference in differences)
    return f"{heads:>5}  {head_dim:>8}  {middle}  {ratio:>10}  {last}".rstrip()
