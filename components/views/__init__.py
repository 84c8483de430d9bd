"""The pages, in the order in which they are offered. A new one is one file and one line here."""

from collections.abc import Callable
from dataclasses import dataclass

from components.views import explore, forming, loop_vs_batch


@dataclass(frozen=True)
class View:
    """One page.

    Attributes:
        key: its name in the address.
        title: what a person sees.
        render: draws it.
    """

    key: str
    title: str
    render: Callable[[], None]


VIEWS: tuple[View, ...] = (
    View("explore", "Explore", explore.render),
    View("loop-vs-batch", "Loop vs batch", loop_vs_batch.render),
    View("forming", "Watch heads form", forming.render),
)
