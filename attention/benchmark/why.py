"""Reads an answer off a trace: did heads run at once, and where did the time go?"""

from attention.benchmark.summary import number
from attention.benchmark.trace import DISPATCH, WAITING, Trace
from attention.implementations import IMPLEMENTATIONS

SMALL_SHARE = 0.005  # of the time: not worth a word


def why(found: Trace, implementation: str) -> list[str]:
    """What a trace says, in sentences.

    Args:
        found: of one forward pass.
        implementation: a key of IMPLEMENTATIONS: what the pass computed the heads with.
    """
    title = IMPLEMENTATIONS[implementation].title  # such as Loop
    return [_concurrency(found, title), _calls(found, title), _shares(found)]


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
    threads = f"{found.threads} thread{'' if found.threads == 1 else 's'}"
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
        return f"{title} dispatches {found.calls} operators, for all heads together."
    outside = found.calls - found.calls_in_heads
    return (
        f"{title} dispatches {found.calls} operators: {number(found.calls_in_heads / count)} for "
        f"each of {count} heads, and {outside} for the layer."
    )


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
