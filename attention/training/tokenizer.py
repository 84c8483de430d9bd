"""The embedded model's tokenizer: byte-level BPE, trained on the corpus by a fixed recipe."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from jaxtyping import UInt16
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from attention.errors import HeadscopeError
from attention.training.corpus import CorpusFile

BOS = "<bos>"
BOS_ID = 0
VOCAB_SIZE = 6144
LINES_AT_ONCE = 1000


def train_tokenizer(lines: Iterable[str], vocab_size: int = VOCAB_SIZE) -> Tokenizer:
    """Train a byte-level BPE tokenizer that puts ``<bos>`` first in every encoding.

    Leaves out normalisation: spans and decoded text are the source's own characters.

    Args:
        lines: the text, a line each with its line break.
        vocab_size: tokens in all: ``<bos>``, 256 bytes, the rest merges.

    Returns:
        The tokenizer; ``<bos>`` has id 0.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[BOS],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(lines, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BOS} $A", pair=f"{BOS} $A $B", special_tokens=[(BOS, BOS_ID)]
    )
    return tokenizer


def weighted_lines(files: Iterable[CorpusFile]) -> Iterator[str]:
    """Give the corpus's lines as often as the training draws them.

    A text of weight 1.5 gives every second line twice; one of 0.4 gives two lines of five.
    """
    for file in files:
        owed = 0.0
        for line in text_lines(file.path):
            owed += file.source.weight
            while owed >= 1:
                yield line
                owed -= 1


def text_lines(path: Path) -> list[str]:
    """Return the lines of a clean text, each with its line break."""
    return path.read_text(encoding="ascii").splitlines(keepends=True)


def encode_lines(tokenizer: Tokenizer, lines: list[str]) -> UInt16[np.ndarray, " tokens"]:
    """Return the lines' token ids in a row, without ``<bos>``."""
    ids: list[int] = []
    for start in range(0, len(lines), LINES_AT_ONCE):
        batch = lines[start : start + LINES_AT_ONCE]
        for encoding in tokenizer.encode_batch(batch, add_special_tokens=False):
            ids += encoding.ids
    return np.asarray(ids, dtype=np.uint16)


def build_tokens(
    files: list[CorpusFile], work: Path, *, vocab_size: int = VOCAB_SIZE
) -> dict[str, Path]:
    """Train the tokenizer and encode every text, where that is not done yet.

    Args:
        files: the clean texts.
        work: the work folder; gets ``tokenizer.json`` and ``tokens/NAME.bin`` (uint16).
        vocab_size: of the tokenizer.

    Returns:
        The token file of each source, by its name.

    Raises:
        HeadscopeError: the work folder holds the tokens of other texts.
    """
    vocabulary = work / "tokenizer.json"
    made_of = work / "tokenizer.made-of.json"
    recipe = json.dumps(
        [vocab_size, *([f.source.name, f.source.weight, f.text_sha256] for f in files)]
    )
    if not vocabulary.exists():
        train_tokenizer(weighted_lines(files), vocab_size).save(str(vocabulary))
        made_of.write_text(recipe, encoding="utf-8")
    elif not made_of.exists() or made_of.read_text(encoding="utf-8") != recipe:
        raise HeadscopeError(
            f"{vocabulary} must be made of the same texts; got others: remove it and "
            f"{work / 'tokens'}, or use another work folder"
        )
    tokenizer = Tokenizer.from_file(str(vocabulary))
    (work / "tokens").mkdir(parents=True, exist_ok=True)
    token_files = {}
    for file in files:
        path = work / "tokens" / f"{file.source.name}.bin"
        if not path.exists():
            partial = path.with_suffix(".part")
            encode_lines(tokenizer, text_lines(file.path)).tofile(partial)
            partial.replace(path)
        token_files[file.source.name] = path
    return token_files
