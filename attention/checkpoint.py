"""A checkpoint as it was found: a config, tensors under their own names, a tokenizer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from attention.tokens import Tokenizer


@dataclass(frozen=True)
class Checkpoint:
    """What a source holds, before any of it becomes a model.

    Attributes:
        name: what a person sees: "embedded", a path, a hub id.
        config: in the terms of a config.json, whatever the file's own; it has `model_type`.
        tensors: by the family's names; a tensor is read when it is looked up.
        tokenizer: how the model reads text; None where there is none: it takes token ids.
        where: the file or folder, for errors.
    """

    name: str
    config: Mapping[str, Any]
    tensors: Mapping[str, Tensor]
    tokenizer: Tokenizer | None
    where: str
