"""Texts of so many tokens, in which one word is changed at a time."""

from collections.abc import Sequence

import numpy as np

from attention.model import LanguageModel
from attention.tokens import Tokens

WORDS = (
    "the a of and to in was he that it his her with as had for she not at but be on they you him "
    "my from all by have this were so when one which said is what there would no out them an up "
    "if more then could been who me down into very now some their like about your time do other "
    "little than any know day good man went come over made only way must came has back hand face"
)


class Text:
    """Words that are one token each, and which of them is changed next.

    Args:
        model: reads it; token ids where it has no tokenizer.
        length: tokens, BOS included.
        seed: of the choice of words.
    """

    def __init__(self, model: LanguageModel, length: int, *, seed: int = 0) -> None:
        self.model = model
        self.choice = np.random.default_rng(seed)
        self.offered = self._offered()
        first = 0 if model.tokenizer is None else len(model.tokens("and")) - 1
        begin = self.offered[0] if model.tokenizer is None else "and"
        self.words = [begin, *(self._word() for _ in range(length - first - 1))]

    def _offered(self) -> Sequence[str]:
        tokenizer = self.model.tokenizer
        if tokenizer is None:
            return [str(n) for n in range(1, self.model.config.vocab_size)]
        alone = len(self.model.tokens("and"))
        return [
            word for word in WORDS.split() if len(self.model.tokens(f"and {word}")) == alone + 1
        ]

    def _word(self) -> str:
        return str(self.offered[int(self.choice.integers(len(self.offered)))])

    def place(self, share: float) -> int:
        """The number of the word that is so far into the text."""
        return min(len(self.words) - 1, int(share * len(self.words)))

    def change(self, place: int) -> tuple[int, int, str]:
        """Put another word there. Returns where the one before was, in characters, and the word."""
        start = sum(len(word) + 1 for word in self.words[:place])
        before = self.words[place]
        word = before
        while word == before:
            word = self._word()
        self.words[place] = word
        return start, start + len(before), word

    def __str__(self) -> str:
        return " ".join(self.words)

    @property
    def tokens(self) -> Tokens:
        """As the model reads it."""
        if self.model.tokenizer is None:
            return Tokens.from_ids([int(word) for word in self.words])
        return self.model.tokens(str(self))
