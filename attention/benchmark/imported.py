"""Reads a result file of another run or machine, and believes nothing in it unseen."""

import json
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

from attention.benchmark.environment import ALLOCATOR_WORDS, Environment
from attention.benchmark.export import FORMAT, VERSION
from attention.benchmark.measurement import Measurement
from attention.benchmark.settings import BenchmarkSettings
from attention.errors import ConfigError, HeadscopeError, is_number

LARGEST_MB = 32
MOST = 1_000_000  # entries of a list
LONGEST = 2_000  # characters of a text


class ResultError(HeadscopeError):
    """A result file that cannot be used."""


@dataclass(frozen=True)
class Run:
    """A benchmark that was measured before, or elsewhere.

    Attributes:
        settings: what was measured.
        environment: where.
        measurements: every point.
    """

    settings: BenchmarkSettings
    environment: Environment
    measurements: tuple[Measurement, ...]


def read_run(data: bytes) -> Run:
    """The run in a JSON file that `to_json` wrote.

    Args:
        data: the file.

    Raises:
        ResultError: when it is too large, no JSON, of another kind or version, or holds what no
            run can give.
    """
    if len(data) > LARGEST_MB << 20:
        raise ResultError(
            f"result file must have at most {LARGEST_MB} MB; got {len(data) / (1 << 20):.1f} MB."
        )
    try:
        content = json.loads(data.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:  # neither UTF-8 nor JSON, or nested too deeply
        raise ResultError(
            "result file must be JSON as `bench --json` or the page writes it; it is not."
        ) from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ResultError(f"result file must be of the format {FORMAT!r}; it says nothing of it.")
    version = content.get("version")
    if version != VERSION or isinstance(version, bool):
        raise ResultError(
            f"result file must be of version {VERSION}; got {str(version)[:20]!r}. "
            "Measure again with this version of Headscope."
        )
    return _run(content)


def _run(content: Mapping[str, Any]) -> Run:
    settings = _settings(content.get("settings"))
    plain = _checked(content.get("environment"), Environment, "environment")
    if plain["allocator"] not in ALLOCATOR_WORDS:
        raise ResultError("allocator of the result file's environment must be user or tuned.")
    points = content.get("measurements")
    if not isinstance(points, list) or not 1 <= len(points) <= MOST:
        raise ResultError(f"measurements of the result file must be a list of 1 to {MOST}.")
    measured = tuple(_measurement(point, settings) for point in points)
    return Run(settings, Environment(**plain), measured)


def _settings(values: object) -> BenchmarkSettings:
    plain = _checked(values, BenchmarkSettings, "settings")
    try:
        return BenchmarkSettings.from_json(plain)
    except ConfigError as error:
        raise ResultError(f"settings of the result file must be possible: {error}") from error


def _measurement(values: object, settings: BenchmarkSettings) -> Measurement:
    m = Measurement.from_json(_checked(values, Measurement, "measurement"))
    try:
        config = settings.config(m.num_heads)
    except ConfigError as error:
        raise ResultError(f"measurements of the result file must be possible: {error}") from error
    if m.implementation not in settings.implementations or (m.head_dim, m.d_out) != (
        config.head_dim,
        config.d_out,
    ):
        raise ResultError(
            f"measurements of the result file must fit its settings; {m.implementation[:40]!r} at "
            f"{m.num_heads} heads does not."
        )
    if 0 in m.samples:
        raise ResultError("samples of the result file must be above 0 ms; got 0.")
    return m


def _checked(values: object, kind: type, title: str) -> dict[str, Any]:
    """The fields of a dataclass, each seen to be of its type; those with a default may lack."""
    if not isinstance(values, dict):
        raise ResultError(f"{title} of the result file must be an object of JSON; it is not.")
    hints, plain = get_type_hints(kind), {}
    for field in fields(kind):
        value = values[field.name] if field.name in values else _default(field, title)
        if field.name in values and not _fits(value, hints[field.name]):
            raise ResultError(
                f"{field.name} of the result file's {title} must be of another kind; "
                f"got {str(value)[:40]!r}."
            )
        plain[field.name] = value
    return plain


def _default(field: Field[Any], title: str) -> object:
    if field.default is not MISSING:
        return field.default
    if field.default_factory is not MISSING:
        return field.default_factory()
    raise ResultError(f"{title} of the result file must have {field.name}.")


def _fits(value: object, hint: Any) -> bool:  # noqa: ANN401 - a type, whatever it is
    """Whether a value out of JSON is what a field's type asks for; numbers are 0 or more."""
    origin, among = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, choice) for choice in among)
    if origin is Literal:
        return isinstance(value, str) and value in among
    if origin is tuple:
        return (
            isinstance(value, list)
            and len(value) <= MOST
            and all(_fits(item, among[0]) for item in value)
        )
    if is_dataclass(hint):
        return isinstance(value, dict) and all(
            name in value and _fits(value[name], kind)
            for name, kind in get_type_hints(hint).items()
        )
    if hint is bool or hint is NoneType:
        return isinstance(value, hint)
    if hint is int:
        return isinstance(value, int) and is_number(value) and 0 <= value < 1 << 63
    if hint is float:
        return isinstance(value, int | float) and is_number(value) and value >= 0
    return isinstance(value, str) and len(value) <= LONGEST


def _refuse_constant(name: str) -> NoReturn:
    """NaN and Infinity, which JSON does not know.

    Raises:
        ValueError: always.
    """
    raise ValueError(name)
