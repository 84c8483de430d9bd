"""One run as the page shows it: what all its pictures have in common."""

from dataclasses import dataclass

from components.chosen import Chosen
from components.derived import Record
from components.looks import Look
from components.scanning import Scan
from components.theme import Ink


@dataclass(frozen=True)
class Shown:
    """What all pictures of a run have in common.

    Attributes:
        record: the run.
        scan: its heads at a glance.
        at: what is chosen.
        look: how weights are shown.
        ink: the page's colours.
    """

    record: Record
    scan: Scan
    at: Chosen
    look: Look
    ink: Ink
