"""Texts to begin with, each for a kind of head."""

import json
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).parents[1] / "assets" / "samples" / "samples.json"


@dataclass(frozen=True)
class Sample:
    """A text to begin with.

    Attributes:
        name: what a person picks.
        text: what is run.
        look_for: what its heads show.
    """

    name: str
    text: str
    look_for: str


SAMPLES: tuple[Sample, ...] = tuple(
    Sample(**entry) for entry in json.loads(FILE.read_text(encoding="utf-8"))
)
