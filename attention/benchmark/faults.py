"""Pages of memory that the system hands out anew in each pass: what freed memory costs."""

from collections.abc import Callable

PASSES = 3


def page_faults(call: Callable[[], object]) -> int | None:
    """Count the minor page faults of one pass.

    A tensor above glibc's threshold goes back to the system when it is freed, and comes back
    page by page in the next pass: each page is a fault, of which a millisecond holds a few
    thousand.

    Args:
        call: the pass; called once before counting and three times while counting.

    Returns:
        faults a pass, of all threads of the process; None where the system does not tell.
    """
    try:
        import resource
    except ImportError:  # Windows
        return None
    call()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(PASSES):
        call()
    after = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    return (after - before) // PASSES
