"""Folders that a training writes to, checked before an hour is spent on what cannot be kept."""

import os
from pathlib import Path

from attention.errors import HeadscopeError


def require_folder(name: str, folder: Path) -> None:
    """Make a folder where there is none.

    Args:
        name: what the folder is called in the sentence.
        folder: it, and those above it, are made.

    Raises:
        HeadscopeError: it cannot be made or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        writable = os.access(folder, os.W_OK)
    except OSError:
        writable = False
    if not writable:
        raise HeadscopeError(f"{name} must be a folder that can be written; got {folder}.")
