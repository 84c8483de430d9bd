"""The project's own errors: each message is one sentence a person can act on.

The page and the command line show `str(error)` of these as it stands; any other
exception is a fault of ours and is logged with its traceback.
"""


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
        raise ConfigError(f"{name} must be a whole number of at least 1; got {value!r}.")


def require_choice(name: str, value: str, choices: "tuple[str, ...] | list[str]") -> None:
    """Refuse a name that is not one of the choices, and list them.

    Raises:
        ConfigError: when `value` is not among `choices`.
    """
    if value not in choices:
        raise ConfigError(f"{name} must be one of {', '.join(choices)}; got {value!r}.")


def require_head(layer: int, head: int, *, num_layers: int, num_heads: int) -> None:
    """Refuse a (layer, head) that the model does not have.

    Raises:
        ConfigError: names the range.
    """
    for name, value, count in (("layer", layer, num_layers), ("head", head, num_heads)):
        if not 0 <= value < count:
            raise ConfigError(f"{name} must be 0 to {count - 1}; got {value}.")
