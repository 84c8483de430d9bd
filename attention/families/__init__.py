"""Which checkpoints can be opened: one file and one line a family."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from attention.errors import ModelError
from attention.families import attention_only, llama
from attention.model_config import ModelConfig


@dataclass(frozen=True)
class Family:
    """A way to write a model down.

    Attributes:
        name: the `model_type` in its config.json.
        read_config: the parsed config.json to our config; refuses what is not supported.
        write_config: our config to a config.json.
        weight_names: our parameter names to its own.
    """

    name: str
    read_config: Callable[[Mapping[str, Any]], ModelConfig]
    write_config: Callable[[ModelConfig], dict[str, Any]]
    weight_names: Callable[[ModelConfig], dict[str, str]]


FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family("llama", llama.read_config, llama.write_config, llama.weight_names),
        Family(
            attention_only.NAME,
            attention_only.read_config,
            attention_only.write_config,
            attention_only.weight_names,
        ),
    )
}


def find_family(model_type: object) -> Family:
    """The family of a config.json's `model_type`.

    Raises:
        ModelError: when it is not one that can be opened; lists those that can.
    """
    if not isinstance(model_type, str) or model_type not in FAMILIES:
        raise ModelError(f"model_type must be one of {', '.join(FAMILIES)}; got {model_type!r}.")
    return FAMILIES[model_type]
