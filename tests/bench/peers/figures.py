"""What is worked out of samples: percentiles, ratios, tables; and the machine in plain words."""

import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version

import numpy as np

NOTHING = "–"
PACKAGES = (
    *("torch", "transformers", "transformer-lens", "bertviz", "circuitsvis"),
    *("streamlit", "plotly", "numpy"),
)


def percentile(samples: Sequence[float | None], share: float) -> float | None:
    """Of the samples that there are; None without any."""
    there = [sample for sample in samples if sample is not None]
    return float(np.percentile(there, share)) if there else None


def times_as_much(one: float | None, other: float | None) -> float | None:
    """How many times `one` the `other` is."""
    return None if one is None or other is None or one <= 0 else other / one


def milliseconds(value: float | None) -> str:
    """87 ms, 1.24 s, 152 s."""
    if value is None:
        return NOTHING
    if value < 999.5:
        return f"{value:.3g} ms" if value < 99.5 else f"{value:.0f} ms"
    return f"{value / 1e3:.3g} s" if value < 99_950 else f"{value / 1e3:.0f} s"


def megabytes(value: float | None) -> str:
    """0.42 MB, 12 MB, 1,056 MB: of a million bytes."""
    if value is None:
        return NOTHING
    return f"{value / 1e6:.2g} MB" if value < 9.95e6 else f"{value / 1e6:,.0f} MB"


def times(value: float | None) -> str:
    """2.4×, 88×, 1,204×."""
    if value is None:
        return NOTHING
    return f"{value:.1f}×" if value < 9.95 else f"{value:,.0f}×"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """In Markdown."""
    lines = [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines)


def verdict(met: bool | None) -> str:
    """Of an aim; None where it could not be measured."""
    return "not measured" if met is None else "met" if met else "not met"


def versions(names: Sequence[str] = PACKAGES) -> Mapping[str, str]:
    """Of the packages that are here."""
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def machine(threads: int | None = None) -> str:
    """Under what was measured, without the machine's name."""
    from attention.benchmark.environment import cpu_model

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    parts = [
        f"{cpu_model() or platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GiB",
        f"{platform.system()}, load {os.getloadavg()[0]:.1f}",
        *([] if threads is None else [f"{threads} thread{'s' if threads > 1 else ''}"]),
        f"Python {platform.python_version()}",
        *(f"{name} {number}" for name, number in versions().items()),
    ]
    return "; ".join(parts)
