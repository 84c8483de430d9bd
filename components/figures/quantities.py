"""What the chart and the table of a benchmark can show of each point."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attention.benchmark import BenchmarkSettings, Measurement
    from attention.benchmark.summary import Row


@dataclass(frozen=True)
class Quantity:
    """One figure of a point.

    Attributes:
        key: its key in QUANTITIES and in the address.
        title: what it is called where it is chosen.
        unit: what the axis says, to be followed by "per forward pass"; empty for a share.
        value: of a point; None where there is none.
        limit: what plain matrix products reach at a head count; None without a limit.
        column: the title of an implementation's column in the table, after its name.
        whole: whether it counts things.
        timed: whether other programs can disturb it: what is counted is the same on a busy machine.
    """

    key: str
    title: str
    unit: str
    value: "Callable[[Measurement], float | None]"
    limit: "Callable[[Row], float | None]"
    column: str
    whole: bool = False
    timed: bool = False

    def axis(self, settings: "BenchmarkSettings") -> str:
        """What the axis says."""
        from attention.benchmark.passes import PASSES

        unit = PASSES[settings.passes].unit
        return f"{self.unit} per {unit}" if self.key != "share" else self.unit


def _time(m: "Measurement") -> float | None:
    return m.median if m.ok else None


def _share(m: "Measurement") -> float | None:
    return None if m.share is None else 100 * m.share


def _memory(m: "Measurement") -> float | None:
    return m.peak_bytes / 1e6 if m.ok and m.peak_bytes is not None else None


def _operators(m: "Measurement") -> float | None:
    return m.operators if m.ok else None


def _kernels(m: "Measurement") -> float | None:
    return m.kernels if m.ok else None


def _least(row: "Row") -> float | None:
    return next((m.least_ms for m in row.by_name.values() if m.least_ms is not None), None)


def _whole(row: "Row") -> float | None:
    return None if _least(row) is None else 100.0


def _no_limit(_row: "Row") -> None:
    return None


QUANTITIES: dict[str, Quantity] = {
    entry.key: entry
    for entry in (
        Quantity("time", "Time", "ms", _time, _least, "ms (p10–p90)", timed=True),
        Quantity(
            "share",
            "Share of limit",
            "% of plain matrix products' FLOP/s",
            _share,
            _whole,
            "%",
            timed=True,
        ),
        Quantity("memory", "Memory", "MB held at once", _memory, _no_limit, "MB"),
        Quantity("operators", "Operators", "operators", _operators, _no_limit, "operators", True),
        Quantity("kernels", "GPU kernels", "kernels", _kernels, _no_limit, "kernels", True),
    )
}


def offered(settings: "BenchmarkSettings") -> list[str]:
    """The keys of those that a benchmark can have: kernels are a GPU's."""
    on_gpu = settings.device.startswith("cuda")
    return [key for key in QUANTITIES if key != "kernels" or on_gpu]
