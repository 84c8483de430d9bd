"""Reasons read off what was measured: traces, page faults, sizes."""

from typing import TYPE_CHECKING

from attention.benchmark.numbers import number
from attention.benchmark.passes import PASSES
from attention.benchmark.trace import DISPATCH, WAITING, Trace
from attention.benchmark.units import in_bytes
from attention.devices import DTYPES
from attention.implementations import IMPLEMENTATIONS

if TYPE_CHECKING:
    from attention.benchmark.settings import BenchmarkSettings
    from attention.benchmark.summary import Row

POOL = "threads"  # the implementation whose heads may run at once
SMALL_SHARE = 0.005  # of the time: not worth a word
MANY_FAULTS = 1000  # a pass: a few tenths of a millisecond


def why(found: Trace, implementation: str) -> list[str]:
    """What a trace says, in sentences.

    Args:
        found: of one forward pass.
        implementation: a key of IMPLEMENTATIONS: what the pass computed the heads with.
    """
    title = IMPLEMENTATIONS[implementation].title  # such as Loop
    said = [_concurrency(found, title), _calls(found, title), _shares(found)]
    if implementation == POOL and len(found.heads) > 1 and found.threads_of_heads == 1:
        said.insert(
            1,
            "Its pool has one thread, as torch may use one: with two or more (Advanced on the "
            "page, --threads in the shell) heads can overlap.",
        )
    if found.disturbed is not None:
        said.append(
            f"{found.disturbed[:1].upper()}{found.disturbed[1:]} meanwhile: the time of this pass, "
            "its shares and its overlap are disturbed. Trace again on a quiet machine."
        )
    return said


def _concurrency(found: Trace, title: str) -> str:
    span = f"{number(found.span / 1000)} ms"
    count = len(found.heads)
    if not count:
        return (
            f"{title} has no single heads that could run at once: each operator works on all "
            f"heads, in {span}."
        )
    if count == 1:
        return f"There is one head, so that nothing can overlap: it takes {span}."
    threads = f"{found.threads_of_heads} thread{'' if found.threads_of_heads == 1 else 's'}"
    if found.overlap == 0:
        return (
            f"No two heads run at once: the operators of the {count} heads follow each other "
            f"on {threads}, 0 µs of overlap in {span}."
        )
    return (
        f"Operators of two heads or more run at once for {number(found.overlap / 1000)} ms of "
        f"{span} ({found.overlap / found.span:.0%}), on {threads}."
    )


def _calls(found: Trace, title: str) -> str:
    count = len(found.heads)
    if not count:
        return f"{title} dispatches {found.calls:,} operators, for all heads together."
    outside = found.calls - found.calls_in_heads
    return (
        f"{title} dispatches {found.calls:,} operators: {_each(found.calls_in_heads, count)} for "
        f"{'the head' if count == 1 else f'each of {count} heads'}, and {outside} for the layer."
    )


def _each(calls: int, count: int) -> str:
    return number(calls / count) if calls % count else str(calls // count)


def _shares(found: Trace) -> str:
    names = {
        DISPATCH: "operators that only arrange others",
        WAITING: "the time between operators, in Python",
    }
    shares = sorted(found.shares().items(), key=lambda item: -item[1])
    told = [
        f"{names.get(kind, kind)} {share:.0%}" for kind, share in shares if share >= SMALL_SHARE
    ]
    return f"Where the time goes under the profiler: {', '.join(told)}."


def why_the_loop_wins(settings: "BenchmarkSettings", row: "Row | None") -> str | None:
    """Whether page faults explain that the loop is faster, from those counted.

    Args:
        settings: of the benchmark.
        row: a head count at which the loop is faster; None where there is none.

    Returns:
        None where there is nothing to explain, or no faults were counted.
    """
    if row is None:
        return None
    loop, batch = (row.by_name[name].faults for name in ("looped", "batched"))
    if loop is None or batch is None:
        return None
    cells = PASSES[settings.passes].positions(settings.seq_len).square.value
    one = settings.batch * cells * DTYPES[settings.dtype].itemsize
    counted = f"{batch:,} page faults a pass in the batch, {loop:,} in the loop"
    if batch < MANY_FAULTS or batch < 2 * loop:
        return f"Page faults don't explain it: {counted}."
    return (
        f"Why: the batch keeps the scores of all {row.num_heads} heads in one tensor of "
        f"{in_bytes(one * row.num_heads)}, the loop those of one head at a time, "
        f"{in_bytes(one)}; memory that large goes back to the system after each pass and "
        f"returns page by page: {counted}."
    )
