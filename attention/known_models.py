"""The models that there are here: in the box, in a folder of models, in the hub's cache."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import torch

from attention.assemble import place_weights, read_config, stored_tensors
from attention.errors import HeadscopeError
from attention.model_config import ModelConfig
from attention.sizes import memory_needed
from attention.sources import FILES, GGUF, open_checkpoint, stamp
from attention.sources.folder import CONFIG

# What is in here is listed beside the embedded model.
LOCAL_MODELS = Path(os.environ.get("HEADSCOPE_MODELS") or "models")
MAIN = "main"  # the revision that is meant where none is named


@dataclass(frozen=True)
class KnownModel:
    """A model that was found here.

    Attributes:
        source: what to give `load_model`.
        config: its sizes; None when it cannot be opened.
        problem: why it cannot be opened; None when it can.
        title: what to call it in a list.
        num_bytes: what its weights take on the disk.
        dtype: what most of them are kept in there: float16, Q4_1; empty when unknown.
    """

    source: str
    config: ModelConfig | None
    problem: str | None
    title: str = ""
    num_bytes: int = 0
    dtype: str = ""

    def memory_needed(self, dtype: torch.dtype) -> int | None:
        """About how much memory opening it takes, bytes; None when it cannot be opened."""
        return None if self.config is None else memory_needed(self.config, dtype)


def find_models(root: Path | None = None) -> list[KnownModel]:
    """The embedded model, those in `root`, and those in the hub's cache; no tensor is read.

    What was found before is not read again unless its files have changed.

    Args:
        root: holds folders with a config.json, and files that are models by themselves; None
            for LOCAL_MODELS.
    """
    sources = [("embedded", "embedded"), *_local(root or LOCAL_MODELS), *_cached()]
    return [_look(source, title, stamp(source)) for source, title in sources]


known_models = find_models


def _local(root: Path) -> Iterator[tuple[str, str]]:
    for path in _inside(root):
        if os.path.isdir(path):  # noqa: PTH112 - Path's own fails where it may not look
            files = [inner.name for inner in _inside(path)]
            if CONFIG in files or any(Path(name).suffix in FILES for name in files):
                yield str(path), path.name
        elif path.suffix in FILES:
            yield str(path), path.stem


def _inside(folder: Path) -> list[Path]:
    """What a folder holds; nothing where it is none, or not for us to read."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _cached() -> Iterator[tuple[str, str]]:
    """The models of the hub's cache by their ids; their GGUF files by their paths."""
    from huggingface_hub import constants, scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    try:
        repos = sorted(scan_cache_dir(constants.HF_HUB_CACHE).repos, key=lambda repo: repo.repo_id)
    except (CacheNotFound, OSError, ValueError):
        return
    for repo in repos:
        if repo.repo_type != "model" or not repo.revisions:
            continue
        newest = max(repo.revisions, key=lambda r: (MAIN in r.refs, r.last_modified))
        name = repo.repo_id if MAIN in newest.refs else f"{repo.repo_id}@{newest.commit_hash}"
        if any(file.file_name == CONFIG for file in newest.files):
            yield name, repo.repo_id
        for file in sorted(newest.files, key=lambda file: file.file_name):
            if file.file_path.suffix == GGUF:
                yield str(file.file_path), f"{repo.repo_id}: {file.file_path.stem}"


@lru_cache(maxsize=256)
def _look(source: str, title: str, stamp: int) -> KnownModel:
    """What one is; `stamp` is there for the cache: it changes with the files."""
    del stamp
    try:
        checkpoint = open_checkpoint(source)
        family, config = read_config(checkpoint.config)
        place_weights(checkpoint, family, config)
    except HeadscopeError as error:
        return KnownModel(source, None, str(error), title)
    tensors = stored_tensors(checkpoint)
    return KnownModel(source, config, None, title, tensors.num_bytes, tensors.dtype)
