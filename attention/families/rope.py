"""How a config.json tells rotary positions: at its top in older ones, in `rope_parameters` now."""

from collections.abc import Mapping
from typing import Any

from attention.errors import ModelError, is_number
from attention.families.base import Config
from attention.rotary import Rope

APART = ("rope_parameters", "rope_scaling")  # what `read_rope` reads, beside the two names


def read_rope(
    config: Config,
    head_dim: int,
    *,
    theta_name: str = "rope_theta",
    share_name: str = "partial_rotary_factor",
    share: float = 1.0,
) -> Rope:
    """How q and k are turned.

    Args:
        config: the parsed config.json.
        head_dim: features of a head.
        theta_name: the entry of the base of the wavelengths, where it stands at the top.
        share_name: the entry of the share of the features that are turned, where it does.
        share: that share where it is not told.

    Raises:
        ModelError: when an entry is no such number, or asks for what is not supported.
    """
    parameters = config.get("rope_scaling") or config.get("rope_parameters") or {}
    if not isinstance(parameters, Mapping):
        raise ModelError(f"rope_parameters must be an object; got {parameters!r}.")
    kind = parameters.get("rope_type") or parameters.get("type") or "default"
    if kind != "default":
        raise ModelError(f"rope_type must be default to be shown right; got {kind!r}.")
    theta = _first(parameters.get("rope_theta"), config.get(theta_name), 10_000.0)
    if not is_number(theta) or theta <= 0:
        raise ModelError(f"{theta_name} in config.json must be a number above 0; got {theta!r}.")
    told = _first(parameters.get("partial_rotary_factor"), config.get(share_name), share)
    return Rope(theta=float(theta), rotary_dim=_turned(told, head_dim, share_name))


def _turned(share: Any, head_dim: int, name: str) -> int | None:  # noqa: ANN401 - as JSON has it
    """How many features are turned; None for all."""
    turned = int(share * head_dim) if is_number(share) else 0  # rounded down, as transformers does
    if not 0 < turned <= head_dim or turned % 2:
        raise ModelError(
            f"{name} must turn an even number of the {head_dim} features of a head; got {share!r}."
        )
    return None if turned == head_dim else turned


def _first(*values: Any) -> Any:  # noqa: ANN401 - as JSON has it
    return next((value for value in values if value is not None), None)
