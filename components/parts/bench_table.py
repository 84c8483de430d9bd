"""The measurements as a table, and as files: what the chart shows, for those who cannot see it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import streamlit as st

from components.figures.quantities import Quantity

if TYPE_CHECKING:
    from attention.benchmark import BenchmarkSettings, Measurement
    from attention.benchmark.summary import Row

NOTHING = "–"
MOST_ROWS = 20  # that are shown without a scroll bar of the table's own


def draw(settings: "BenchmarkSettings", rows: "Sequence[Row]", quantity: Quantity) -> None:
    """A row for each head count."""
    if rows:
        st.dataframe(
            columns(settings, rows, quantity),
            hide_index=True,
            height=height(len(rows)),
            key="bench_table",
        )


def height(rows: int) -> Literal["content", "auto"]:
    """How high a table is: all of it where that is about a window's height, else ten rows."""
    return "content" if rows <= MOST_ROWS else "auto"


def columns(
    settings: "BenchmarkSettings", rows: "Sequence[Row]", quantity: Quantity
) -> dict[str, list[str]]:
    """The table's columns by their titles, as text.

    Args:
        settings: of the benchmark.
        rows: what is measured.
        quantity: what the implementations' columns show.
    """
    from attention.benchmark.passes import PASSES
    from attention.implementations import IMPLEMENTATIONS

    pair = {"looped", "batched"} <= set(settings.implementations)

    table: dict[str, list[str]] = {
        "Heads": [str(row.num_heads) for row in rows],
        "head_dim": [str(settings.config(row.num_heads).head_dim) for row in rows],
        "d_out": [str(settings.config(row.num_heads).d_out) for row in rows],
    }
    for name in settings.implementations:
        title = f"{IMPLEMENTATIONS[name].title}, {quantity.column}"
        table[title] = [cell(row.by_name.get(name), quantity) for row in rows]
    if pair:
        table["Loop / batch"] = [ratio(row) for row in rows]
    table["max |Δ| output"] = [difference(row, "output_difference") for row in rows]
    table["max |Δ| pattern"] = [difference(row, "pattern_difference") for row in rows]
    if PASSES[settings.passes].gradients:
        table["max |Δ| gradients, relative"] = [difference(r, "gradient_difference") for r in rows]
    table["Equal"] = [equality(row) for row in rows]
    if pair:
        table["W_query, loop"] = [weight(row, "looped") for row in rows]
        table["W_query, batch"] = [weight(row, "batched") for row in rows]
    table["Output"] = [output(row) for row in rows]
    table["Note"] = [note(row) for row in rows]
    return table


def cell(m: "Measurement | None", quantity: Quantity) -> str:
    """What a point has of a quantity."""
    from attention.benchmark.summary import number

    if quantity.key == "time":
        return time(m)
    value = None if m is None else quantity.value(m)
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if quantity.whole else number(value)


def time(m: "Measurement | None") -> str:
    """Median and spread, ms."""
    from attention.benchmark.summary import number

    if m is None or not m.ok:
        return NOTHING
    return f"{number(m.median)} ({number(m.p10)}–{number(m.p90)})"


def ratio(row: "Row") -> str:
    """How many times as long the loop takes."""
    from attention.benchmark.summary import number

    return NOTHING if row.ratio is None else f"{number(row.ratio)}×"


def difference(row: "Row", field: str) -> str:
    """The largest difference of any implementation from the exact result."""
    values = [v for m in row.by_name.values() if (v := getattr(m, field)) is not None]
    return f"{max(values):.1e}" if values else NOTHING


def equality(row: "Row") -> str:
    """Whether all implementations that could be seen were right."""
    verdicts = [m.equal for m in row.by_name.values() if not m.impossible] or [None]
    if False in verdicts:
        return "✗ no"
    return NOTHING if None in verdicts else "✓ yes"


def weight(row: "Row", name: str) -> str:
    """The shape of the queries' weights, (out, in)."""
    m = row.by_name.get(name)
    if m is None or not m.weights:
        return NOTHING
    return m.weights[0].removeprefix("W_query ").replace("heads.*.W_query ", "")


def output(row: "Row") -> str:
    """The output's shape (batch, pos, d_model)."""
    shapes = [m.output for m in row.by_name.values() if m.output]
    return str(shapes[0]) if shapes else NOTHING


def note(row: "Row") -> str:
    """What disturbed or failed, or is far out."""
    said = [text for m in row.by_name.values() for text in (m.disturbed, m.error) if text]
    far_out = sum(len(m.far_out) for m in row.by_name.values())
    if far_out:
        said.append(f"{far_out} {'sample' if far_out == 1 else 'samples'} far out, left out")
    return "; ".join(dict.fromkeys(said))


def file_name(settings: "BenchmarkSettings") -> str:
    """What a file with the results is called, without its ending."""
    return (
        f"headscope-{settings.passes}-{settings.reading}-{settings.width}-{settings.seq_len}-tokens"
    )


def downloads(settings: "BenchmarkSettings", found: "Sequence[Measurement]") -> None:
    """The measurements as CSV and JSON."""
    from attention.benchmark import environment
    from attention.benchmark.export import to_csv, to_json

    name = file_name(settings)
    files = (
        ("CSV", "csv", "text/csv", lambda: to_csv(settings, found)),
        (
            "JSON",
            "json",
            "application/json",
            lambda: to_json(settings, environment(settings), found),
        ),
    )
    for title, ending, kind, content in files:
        st.download_button(
            title,
            content,
            f"{name}.{ending}",
            kind,
            key=f"bench_{ending}",
            on_click="ignore",
            disabled=not found,
        )
