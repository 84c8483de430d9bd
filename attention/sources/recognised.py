"""Checkpoints without a config.json: the families say which are theirs, from names and shapes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attention.checkpoint import Checkpoint
from attention.errors import ModelError
from attention.sources.stored import StoredTensors


def recognise(found: Mapping[str, Any], path: Path, name: str) -> Checkpoint:
    """A saved object as the family's that knows it.

    Args:
        found: what the file holds, or its tensors by name.
        path: the file.
        name: what a person calls it.

    Raises:
        ModelError: when no family knows it.
    """
    from attention.families import FAMILIES

    known = [family for family in FAMILIES.values() if family.recognise is not None]
    for family in known:
        made = family.recognise(found) if family.recognise is not None else None
        if made is not None:
            config, tensors = made
            stored = tensors if isinstance(tensors, StoredTensors) else StoredTensors.of(tensors)
            return Checkpoint(
                name,
                {"model_type": family.name, **config},
                stored,
                None,
                str(path),
            )
    kinds = ", ".join(family.name for family in known) or "none"
    raise ModelError(
        f"{path} must have a config.json beside it, or be a checkpoint that is known without one "
        f"({kinds}); it is neither."
    )
