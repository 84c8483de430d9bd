"""A training to walk through: its checkpoints, and what was seen of it between them."""

import threading
from dataclasses import dataclass, field
from pathlib import Path

from attention.errors import ModelError, require_index
from attention.history import Bump, History, Look, read_history
from attention.loading import load_model
from attention.model import LanguageModel

SHIPPED = Path(__file__).parent.parent / "assets" / "forming"
HISTORY = "history.json"


def checkpoint_file(tokens: int) -> str:
    """The name of a checkpoint's file."""
    return f"tokens-{tokens:08d}.safetensors"


@dataclass(frozen=True)
class Formation:
    """The checkpoints of one training, from the first weights to the last.

    Attributes:
        folder: where they are.
        history: all looks, also those between the checkpoints.
        checkpoints: which look each checkpoint belongs to, in order.
    """

    folder: Path
    history: History
    checkpoints: tuple[int, ...]
    _opened: dict[int, LanguageModel] = field(default_factory=dict, compare=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, compare=False, repr=False)

    def __len__(self) -> int:
        """How many checkpoints there are."""
        return len(self.checkpoints)

    @property
    def looks(self) -> tuple[Look, ...]:
        """What was seen at each checkpoint."""
        return tuple(self.history.looks[at] for at in self.checkpoints)

    @property
    def steps(self) -> tuple[int, ...]:
        """Optimizer steps before each checkpoint."""
        return tuple(look.step for look in self.looks)

    @property
    def tokens(self) -> tuple[int, ...]:
        """Tokens trained on before each checkpoint."""
        return tuple(look.tokens for look in self.looks)

    @property
    def bump(self) -> Bump:
        """The stretch in which the induction heads form."""
        return self.history.bump

    def model(self, index: int) -> LanguageModel:
        """One checkpoint as a model, opened when it is first asked for and kept.

        Raises:
            ConfigError: when there is no such checkpoint.
            ModelError: when its file cannot be used.
        """
        at = require_index("checkpoint", index, len(self))
        with self._lock:
            if at not in self._opened:
                file = checkpoint_file(self.tokens[at])
                self._opened[at] = load_model(str(self.folder), weights=file)
            return self._opened[at]


def load_formation(folder: Path | None = None) -> Formation:
    """Open the training that is shipped, or another that the same command made.

    Weights are read when they are asked for.

    Args:
        folder: with history.json, config.json, tokenizer.json and the checkpoints' files.

    Raises:
        ModelError: when the history or a checkpoint's file is missing.
    """
    where = SHIPPED if folder is None else folder
    history, checkpoints = read_history(where / HISTORY)
    found = Formation(where, history, checkpoints)
    if not checkpoints:
        raise ModelError(f"{where / HISTORY} must name at least one checkpoint; it names none.")
    for tokens in found.tokens:
        if not (where / checkpoint_file(tokens)).is_file():
            raise ModelError(f"{where} must hold {checkpoint_file(tokens)}; it does not.")
    return found
