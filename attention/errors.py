"""The project's own errors: each message is one sentence a person can act on.

The page and the command line show `str(error)` of these as it stands; any other
exception is a fault of ours and is logged with its traceback.
"""

import math
import operator
from typing import SupportsIndex

SEEDS = 1 << 63  # what torch's generator takes
LARGEST = 1 << 40  # of any size: beyond every machine, and small enough to look for divisors
SHOWN = 60  # characters of a value in an error


class HeadscopeError(ValueError):
    """Bad input, told in one sentence: the rule, the value, what to do."""


class ConfigError(HeadscopeError):
    """A setting that breaks a rule (a size, a name, a combination)."""


class TextError(HeadscopeError):
    """A text or token ids that cannot be run."""


class ModelError(HeadscopeError):
    """A model that cannot be opened or whose weights cannot be used."""


class DeviceError(HeadscopeError):
    """A device or dtype that is not available here, or has no memory left."""


def require_positive(name: str, value: int) -> None:
    """Refuse anything but a whole number of at least 1.

    Raises:
        ConfigError: when `value` is not an int (bool counts as none) or is below 1.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigError(f"{name} must be a whole number of at least 1; got {shown(value)}.")


def require_size(name: str, value: int) -> None:
    """Refuse anything but a whole number of at least 1 that something could be as large as.

    Raises:
        ConfigError: when it is none, or above LARGEST.
    """
    require_positive(name, value)
    if value > LARGEST:
        raise ConfigError(f"{name} must be at most {LARGEST}; got {shown(value)}.")


def shown(value: object) -> str:
    """How an error writes a value that somebody gave: cut where it is long."""
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def require_choice(name: str, value: str, choices: "tuple[str, ...] | list[str]") -> None:
    """Refuse a name that is not one of the choices, and list them.

    Raises:
        ConfigError: when `value` is not among `choices`.
    """
    if value not in choices:
        raise ConfigError(f"{name} must be one of {', '.join(choices)}; got {shown(value)}.")


def whole(value: object) -> int | None:
    """A whole number of any library as a plain one; None for all else (bool counts as none)."""
    try:
        if isinstance(value, SupportsIndex) and not isinstance(value, bool):
            return operator.index(value)
    except TypeError:  # a tensor has __index__, but only whole numbers give one
        pass
    return None


def is_number(value: object) -> bool:
    """Whether it is an int or a float that is finite (bool counts as none), as a float too."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number that is too large for a float
        return False


def require_seed(value: int) -> None:
    """Refuse what no generator can be seeded with.

    Raises:
        ConfigError: when it is not a whole number of 0 to 2**63 - 1.
    """
    seed = whole(value)
    if seed is None or not 0 <= seed < SEEDS:
        raise ConfigError(f"seed must be a whole number of 0 to 2**63 - 1; got {value!r}.")


def require_index(name: str, value: int, count: int) -> int:
    """Refuse what is not one of `count` things, numbered from 0.

    Returns:
        the number as a plain int.

    Raises:
        ConfigError: when it is no whole number or out of range; names the range.
    """
    index = whole(value)
    if index is None or not 0 <= index < count:
        raise ConfigError(f"{name} must be 0 to {count - 1}; got {shown(value)}.")
    return index


def require_head(layer: int, head: int, *, num_layers: int, num_heads: int) -> tuple[int, int]:
    """Refuse a (layer, head) that the model does not have.

    Returns:
        both as plain ints.

    Raises:
        ConfigError: names the range.
    """
    return require_index("layer", layer, num_layers), require_index("head", head, num_heads)
