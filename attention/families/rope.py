"""How a config.json tells rotary positions: at its top in older ones, in `rope_parameters` now."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from attention.errors import LARGEST, ModelError, is_number, shown
from attention.families.base import Config
from attention.rope_scaling import Dynamic, Linear, Llama3, Scaling, Yarn
from attention.rotary import Rope

APART = (  # what `read_rope` reads, beside the two names
    "rope_parameters",
    "rope_scaling",
    "original_max_position_embeddings",
)
LENGTH = "max_position_embeddings"


def read_rope(
    config: Config,
    head_dim: int,
    *,
    theta_name: str = "rope_theta",
    theta: float = 10_000.0,
    share_name: str = "partial_rotary_factor",
    share: float = 1.0,
) -> Rope:
    """How q and k are turned.

    Args:
        config: the parsed config.json.
        head_dim: features of a head.
        theta_name: the entry of the base of the wavelengths, where it stands at the top.
        theta: that base where it is not told.
        share_name: the entry of the share of the features that are turned, where it does.
        share: that share where it is not told.

    Raises:
        ConfigError: when a number of the stretching is none.
        ModelError: when an entry is no such number, or asks for what is not supported.
    """
    parameters = config.get("rope_scaling") or config.get("rope_parameters") or {}
    if not isinstance(parameters, Mapping):
        raise ModelError(f"rope_parameters must be an object; got {shown(parameters)}.")
    for name, value in parameters.items():
        if isinstance(value, Mapping) or name == "mrope_section":
            raise ModelError(f"{name} must be left out of rope_parameters; got {shown(value)}.")
    kind = parameters.get("rope_type") or parameters.get("type") or "default"
    if not isinstance(kind, str) or kind not in SCALINGS:
        raise ModelError(
            f"rope_type must be one of {', '.join(SCALINGS)} to be shown right; got {shown(kind)}."
        )
    base = _first(parameters.get("rope_theta"), config.get(theta_name), theta)
    if not is_number(base) or base <= 0:
        raise ModelError(
            f"{theta_name} in config.json must be a number above 0; got {shown(base)}."
        )
    told = _first(parameters.get("partial_rotary_factor"), config.get(share_name), share)
    return Rope(
        theta=float(base),
        rotary_dim=_turned(told, head_dim, share_name),
        scaling=SCALINGS[kind](parameters, config),
    )


def longest(config: Config, rope: Rope | None) -> int:
    """The longest text that a model reads, tokens: longer than in training where it may be.

    Args:
        config: the parsed config.json, its sizes checked.
        rope: how it turns q and k.
    """
    told: int = config[LENGTH]
    scaling = None if rope is None else rope.scaling
    if isinstance(scaling, Dynamic | Yarn):
        return max(told, int(min(scaling.factor * scaling.original_length, LARGEST)))
    return told


def _dynamic(parameters: Config, config: Config) -> Scaling:
    return Dynamic(factor=_number(parameters, "factor"), original_length=config[LENGTH])


def _llama3(parameters: Config, config: Config) -> Scaling:
    return Llama3(
        factor=_number(parameters, "factor"),
        low_freq_factor=_number(parameters, "low_freq_factor"),
        high_freq_factor=_number(parameters, "high_freq_factor"),
        original_length=_trained(parameters, config),
    )


def _yarn(parameters: Config, config: Config) -> Scaling:
    trained = _trained(parameters, config)
    factor = _number(parameters, "factor", config[LENGTH] / trained)
    return Yarn(
        factor=factor,
        original_length=trained,
        attention_factor=_amplitude(parameters, factor),
        beta_fast=_number(parameters, "beta_fast", 32.0),
        beta_slow=_number(parameters, "beta_slow", 1.0),
        truncate=bool(parameters.get("truncate", True)),
    )


def _trained(parameters: Config, config: Config) -> int:
    """The length of the training's texts, tokens; at the top of the config it comes first."""
    name = "original_max_position_embeddings"
    told = _first(config.get(name), parameters.get(name), config[LENGTH])
    if not is_number(told) or told < 1:
        raise ModelError(
            f"{name} in config.json must be a number of at least 1; got {shown(told)}."
        )
    return int(told)


def _amplitude(parameters: Config, factor: float) -> float:
    """YaRN's factor on turned features; Peng et al. 2023, equation 22, unless it is told."""

    def usual(scale: float) -> float:
        return 0.1 * scale * math.log(max(factor, 1.0)) + 1

    amplitude = usual(1.0)
    if parameters.get("mscale") and parameters.get("mscale_all_dim"):
        above, below = _number(parameters, "mscale"), _number(parameters, "mscale_all_dim")
        amplitude = usual(above) / usual(below)
    return _number(parameters, "attention_factor", amplitude)


def _number(parameters: Config, name: str, usual: float | None = None) -> float:
    """A number of the stretching; `usual` where it is not told.

    Raises:
        ModelError: when it is none above 0.
    """
    told = _first(parameters.get(name), usual)
    if not is_number(told) or told <= 0:
        raise ModelError(f"{name} of rope_parameters must be a number above 0; got {shown(told)}.")
    return float(told)


def _turned(share: Any, head_dim: int, name: str) -> int | None:  # noqa: ANN401 - as JSON has it
    """How many features are turned; None for all."""
    turned = int(share * head_dim) if is_number(share) else 0  # rounded down, as transformers does
    if not 0 < turned <= head_dim or turned % 2:
        raise ModelError(
            f"{name} must turn an even number of the {head_dim} features of a head; "
            f"got {shown(share)}."
        )
    return None if turned == head_dim else turned


def _first(*values: Any) -> Any:  # noqa: ANN401 - as JSON has it
    return next((value for value in values if value is not None), None)


SCALINGS: dict[str, Callable[[Config, Config], Scaling | None]] = {
    "default": lambda _parameters, _config: None,
    "linear": lambda parameters, _config: Linear(factor=_number(parameters, "factor")),
    "dynamic": _dynamic,
    "llama3": _llama3,
    "yarn": _yarn,
}
