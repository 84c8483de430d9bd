"""Token files to what the loop needs: texts to draw from, and held-out windows."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor

from attention.errors import HeadscopeError
from attention.training.rows import Texts
from attention.training.tokenizer import BOS_ID

HELD_OUT_WINDOWS = 8


@dataclass(frozen=True)
class TrainingData:
    """The corpus, split.

    Args:
        texts: what rows are drawn from.
        held_out: for each source, windows of its end that the training never sees;
            each starts with ``<bos>``.
    """

    texts: Texts
    held_out: dict[str, Int64[Tensor, "rows pos"]]

    @property
    def windows(self) -> Int64[Tensor, "rows pos"]:
        """All held-out windows, every source alike."""
        return torch.cat(list(self.held_out.values()))


def split(
    token_files: dict[str, Path], weights: dict[str, float], *, vocab_size: int, length: int
) -> TrainingData:
    """Hold the end of every text out, and make the rest ready to draw from.

    Args:
        token_files: each source's uint16 token file.
        weights: each source's weight.
        vocab_size: of the tokenizer.
        length: tokens of a held-out window, ``<bos>`` included.

    Raises:
        HeadscopeError: a text is too short to hold anything out.
    """
    parts, held_out = [], {}
    size = HELD_OUT_WINDOWS * (length - 1)
    for name, path in token_files.items():
        ids = np.fromfile(path, dtype=np.uint16).astype(np.int64)
        if len(ids) < 2 * size:
            raise HeadscopeError(
                f"{name} must have at least {2 * size} tokens; got {len(ids)}: "
                f"remove {path} to encode it anew"
            )
        parts.append(ids[:-size])
        windows = np.full((HELD_OUT_WINDOWS, length), BOS_ID, dtype=np.int64)
        windows[:, 1:] = ids[-size:].reshape(HELD_OUT_WINDOWS, length - 1)
        held_out[name] = torch.from_numpy(windows)
    texts = Texts.build(parts, [weights[name] for name in token_files], vocab_size=vocab_size)
    return TrainingData(texts, held_out)
