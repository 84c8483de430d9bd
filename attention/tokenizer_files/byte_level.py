"""A byte-level BPE tokenizer from its vocabulary and its merges."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import tokenizers
from tokenizers import decoders, models

from attention.errors import ModelError
from attention.tokenizer_files.splits import WordSplit

Pair = tuple[str, str]


def byte_level(
    vocab: Mapping[str, int],
    merges: Sequence[Pair],
    words: WordSplit,
    *,
    prefix_space: bool = False,
    where: Path | str = "the tokenizer",
) -> tokenizers.Tokenizer:
    """Put a byte-level BPE together.

    Args:
        vocab: each token in GPT-2's byte alphabet, and its id.
        merges: pairs of tokens, the first to merge first.
        words: how the text is cut into words, within which bytes are merged.
        prefix_space: whether a text that does not begin with a blank gets one.
        where: the file, for the error.

    Raises:
        ModelError: when a merge is of tokens that are not in the vocabulary.
    """
    try:
        model = models.BPE(vocab=dict(vocab), merges=list(merges), ignore_merges=words.whole_words)
    except Exception as error:  # the library raises bare Exception
        raise ModelError(
            f"{where} must hold a vocabulary and its merges; they cannot be read: {error}."
        ) from error
    backend = tokenizers.Tokenizer(model)
    if words.normalizer is not None:
        backend.normalizer = words.normalizer
    backend.pre_tokenizer = words.pre_tokenizer(prefix_space=prefix_space)
    backend.decoder = decoders.ByteLevel()
    return backend


def merge_pairs(lines: Iterable[str], where: Path | str) -> list[Pair]:
    """The merges of a merges.txt or of a GGUF file, one "left right" a line.

    Raises:
        ModelError: when a line is not two tokens.
    """
    pairs = []
    for number, line in enumerate(lines, start=1):
        left, blank, right = line.rstrip("\r\n").partition(" ")
        if not (left and blank and right) or " " in right:
            raise ModelError(
                f"merges of {where} must be two tokens each; number {number} is {line!r}."
            )
        pairs.append((left, right))
    return pairs
