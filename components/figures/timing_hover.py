"""What a point of the timing chart says when it is pointed at."""

from typing import TYPE_CHECKING

from components.figures.labels import escaped

if TYPE_CHECKING:
    from attention.benchmark import Measurement

LONGEST_NAME = 48  # characters of another machine in the legend


def hover(m: "Measurement", ratio: float | None = None, *, place: str = "") -> str:
    """Everything about one point.

    Args:
        m: the point.
        ratio: the loop's time over the batch's at its head count.
        place: where it was measured, if not here.
    """
    from attention.benchmark.summary import number

    heads = f"{m.num_heads} {'head' if m.num_heads == 1 else 'heads'}"
    said = [f"<b>{title(m.implementation)}, {heads}</b> of head_dim {m.head_dim}, d_out {m.d_out}"]
    said += [f"<i>{escaped(place)}</i>"] if place else []
    said += ["Not possible:"] if m.impossible else []
    if m.ok:
        left_out = f", {len(m.far_out)} left out as far out" if m.far_out else ""
        said.append(
            f"{number(m.median)} ms (p10 {number(m.p10)}, p90 {number(m.p90)}; "
            f"{len(m.samples)} samples{left_out})"
        )
    if ratio is not None and m.implementation == "looped":
        said.append(f"{number(ratio)}× the batch's time")
    said += _costs(m)
    said += [_equality(m)] if m.equal is not None else []
    said += [escaped(reason) for reason in (m.disturbed, m.error) if reason]
    return "<br>".join(said)


def cut(name: str) -> str:
    """As many words of a machine's name as the legend has room for."""
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[:LONGEST_NAME].rsplit(' ', 1)[0].rstrip(',')} …"


def title(name: str) -> str:
    """What a person calls an implementation."""
    from attention.implementations import IMPLEMENTATIONS

    return IMPLEMENTATIONS[name].title


def _costs(m: "Measurement") -> list[str]:
    from attention.benchmark.summary import number
    from attention.benchmark.units import in_bytes, in_flops, in_percent

    said = []
    if m.share is not None and m.limit_ms is not None and m.flops_per_second is not None:
        said.append(
            f"{in_flops(m.flops_per_second)}: {in_percent(m.share)} of plain matrix products "
            f"({number(m.limit_ms)} ms)"
        )
    if m.flops is not None and m.moved_bytes is not None:
        flops = in_flops(m.flops).removesuffix("/s")
        said.append(f"{flops}, {in_bytes(m.moved_bytes)} moved, by formula")
    counted = []
    if m.peak_bytes is not None:
        counted.append(f"{in_bytes(m.peak_bytes)} held at once")
    if m.operators is not None:
        counted.append(f"{m.operators} operators")
    if m.kernels is not None:
        counted.append(f"{m.kernels} GPU kernels")
    said += [", ".join(counted)] if counted else []
    return [*said, f"compiled in {m.compile_s:.1f} s"] if m.compile_s is not None else said


def _equality(m: "Measurement") -> str:
    verdict = "equal" if m.equal else "NOT EQUAL"
    found = {
        "output": m.output_difference,
        "pattern": m.pattern_difference,
        f"gradients ({m.gradient_of}, of its largest)": m.gradient_difference,
    }
    told = ", ".join(f"{what} {value:.1e}" for what, value in found.items() if value is not None)
    return f"{verdict} to float64: max |Δ| {told}" if told else f"{verdict} to float64"
