"""Texts to begin with, each for a kind of head."""

import json
from collections import Counter
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from attention.errors import ConfigError
from components.explanations import EXPLANATIONS

FILE = Path(__file__).parents[1] / "assets" / "samples" / "samples.json"


@dataclass(frozen=True)
class Sample:
    """A text to begin with.

    Attributes:
        name: what a person picks.
        text: what is run.
        look_for: what its heads show, in one sentence.
        shows: the head metric of the kind of head that it makes plain; None for no one kind.

    Raises:
        ConfigError: when a part is empty or of another type, look_for is no whole sentence, or
            shows is no head metric.
    """

    name: str
    text: str
    look_for: str
    shows: str | None

    def __post_init__(self) -> None:
        """Check every part."""
        for part in ("name", "text", "look_for"):
            value = getattr(self, part)
            if not isinstance(value, str) or not value.strip():
                raise ConfigError(f"{part} of a sample must be a text; got {value!r}.")
        if not self.look_for.endswith("."):
            raise ConfigError(f"look_for must be a sentence; got {self.look_for!r}.")
        if self.shows is not None and self.shows not in list(EXPLANATIONS):  # may be no string
            known = ", ".join(EXPLANATIONS)
            raise ConfigError(f"shows must be null or one of {known}; got {self.shows!r}.")


def read_samples(path: Path) -> tuple[Sample, ...]:
    """The samples in a file, in its order.

    Args:
        path: JSON, a list of objects with the attributes of `Sample`.

    Raises:
        ConfigError: names the file and what is wrong with it.
    """
    try:
        found = tuple(_sample(entry) for entry in _entries(path))
    except (OSError, ValueError) as error:  # ConfigError among them
        raise ConfigError(f"{path.name} must be a list of sample texts: {error}") from error
    twice = [name for name, count in Counter(s.name for s in found).items() if count > 1]
    if twice or not found:
        raise ConfigError(f"{path.name} must hold samples of different names; got {twice}.")
    return found


def _entries(path: Path) -> list[Any]:
    entries: Any = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(entries, list):
        raise ConfigError(f"it must hold a list; it holds {type(entries).__name__}.")
    return entries


def _sample(entry: object) -> Sample:
    names = [field.name for field in fields(Sample)]
    if not isinstance(entry, dict) or sorted(entry) != sorted(names):
        raise ConfigError(f"a sample must have {', '.join(names)}; got {entry!r}.")
    return Sample(**entry)


SAMPLES: tuple[Sample, ...] = read_samples(FILE)
