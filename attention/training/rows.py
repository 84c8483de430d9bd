"""Training rows: repeated random tokens, copied passages and plain text.

The repeats make induction heads worth having; the loss leaves out what nothing before
it could tell. A batch is a function of its generator alone.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from attention.errors import HeadscopeError
from attention.training.tokenizer import BOS_ID

IGNORED = -100  # the target that cross entropy leaves out
SHORTEST_REPEAT = 5
SHORTEST_PASSAGE = 8
SPACED_COPIES = 0.6

Ids = Int[np.ndarray, " pos"]


@dataclass(frozen=True)
class RowMix:
    """What the rows of a stage are made of.

    Args:
        random: share of rows of repeated random tokens.
        copies: share of rows in which a passage comes twice; the rest is plain text.
        from_pool: share of the random rows that draw from the commonest tokens.
        mirrored: share of rows of random tokens that come back in reverse order.
    """

    random: float
    copies: float
    from_pool: float = 0.7
    mirrored: float = 0.0

    def __post_init__(self) -> None:
        for name in ("random", "copies", "from_pool", "mirrored"):
            if not 0 <= getattr(self, name) <= 1:
                raise HeadscopeError(
                    f"{name} must be a share from 0 to 1; got {getattr(self, name)}"
                )
        total = self.random + self.copies + self.mirrored
        if total > 1:
            raise HeadscopeError(f"random + copies + mirrored must be at most 1; got {total}")


@dataclass(frozen=True)
class Texts:
    """The corpus as tokens, with what random rows draw from.

    Args:
        parts: the token ids of each text, without ``<bos>``.
        shares: how often each text is drawn; sums to 1.
        pool: the commonest tokens.
        rarity: for every token of the vocabulary the chance to be drawn when the
            common ones are only mildly preferred; sums to 1, 0 for ``<bos>``.
    """

    parts: tuple[Int[np.ndarray, " _"], ...]  # each of its own length
    shares: Float[np.ndarray, " parts"]
    pool: Int[np.ndarray, " pool"]
    rarity: Float[np.ndarray, " vocab"]

    @classmethod
    def build(
        cls,
        parts: list[Int[np.ndarray, " _"]],
        weights: list[float],
        *,
        vocab_size: int,
        pool_size: int = 512,
    ) -> "Texts":
        """Count the tokens and weigh the texts by length times weight."""
        lengths = np.array([len(part) for part in parts])
        shares = lengths * np.array(weights)
        counts = np.bincount(np.concatenate(parts), minlength=vocab_size).astype(np.float64)
        counts[BOS_ID] = 0
        rarity = np.sqrt(counts)
        return cls(
            parts=tuple(parts),
            shares=shares / shares.sum(),
            pool=np.argsort(-counts, kind="stable")[:pool_size],
            rarity=rarity / rarity.sum(),
        )

    def passage(self, length: int, rng: np.random.Generator) -> Ids:
        """Cut ``length`` tokens in a row out of a text drawn by its share."""
        part = self.parts[rng.choice(len(self.parts), p=self.shares)]
        start = rng.integers(0, len(part) - length + 1)
        return part[start : start + length]


def random_tokens(length: int, texts: Texts, from_pool: float, rng: np.random.Generator) -> Ids:
    """Draw tokens from the pool, else mildly by frequency or all alike."""
    if rng.random() < from_pool:
        return texts.pool[rng.integers(0, len(texts.pool), length)]
    vocab_size = len(texts.rarity)
    if rng.random() < 0.5:
        return rng.choice(vocab_size, length, p=texts.rarity)
    return rng.integers(BOS_ID + 1, vocab_size, length)


def repeated_row(
    length: int, texts: Texts, from_pool: float, rng: np.random.Generator
) -> tuple[Ids, Bool[np.ndarray, " pos"]]:
    """Repeat a run of random tokens to ``length``; say which tokens can be known.

    Returns:
        The tokens, and True where the loss counts: after the first copy and the first
        token of the second, which nothing announces.
    """
    period = int(rng.integers(SHORTEST_REPEAT, length // 2 + 1))
    tokens = np.resize(random_tokens(period, texts, from_pool, rng), length)
    return tokens, np.arange(length) > period


def mirrored_row(
    length: int, texts: Texts, from_pool: float, rng: np.random.Generator
) -> tuple[Ids, Bool[np.ndarray, " pos"]]:
    """Let a run of random tokens come back in reverse order; say which tokens can be known.

    What follows a token is what came before its earlier copy: a head must look at that copy.
    That makes duplicate-token heads worth having, which plain repeats do not.

    Returns:
        The tokens, and True where the loss counts: in the second half, after its first token.
    """
    size = int(rng.integers(SHORTEST_REPEAT, length // 2 + 1))
    there = random_tokens(size, texts, from_pool, rng)
    tokens = np.resize(np.concatenate([there, there[::-1]]), length)
    position = np.arange(length)
    return tokens, (position > size) & (position < 2 * size)


def copied_row(length: int, texts: Texts, rng: np.random.Generator) -> Ids:
    """Join a passage, often some other text, the passage again, and text to fill up."""
    size = int(rng.integers(SHORTEST_PASSAGE, length // 2 + 1))
    room = min(length - 2 * size, length // 2)
    gap = int(rng.integers(0, room + 1)) if rng.random() < SPACED_COPIES else 0
    passage = texts.passage(size, rng)
    pieces = [passage, texts.passage(gap, rng), passage]
    return np.concatenate([*pieces, texts.passage(length, rng)])[:length]


def make_row(
    length: int, mix: RowMix, texts: Texts, rng: np.random.Generator
) -> tuple[Ids, Bool[np.ndarray, " pos"]]:
    """Make one row by the mix.

    Returns:
        The tokens without ``<bos>``, and True where the loss counts.
    """
    kind = rng.random()
    if kind < mix.random:
        return repeated_row(length, texts, mix.from_pool, rng)
    everywhere = np.ones(length, dtype=bool)
    if kind < mix.random + mix.copies:
        return copied_row(length, texts, rng), everywhere
    if kind < mix.random + mix.copies + mix.mirrored:
        return mirrored_row(length, texts, mix.from_pool, rng)
    return texts.passage(length, rng), everywhere


def make_batch(
    rows: int, length: int, mix: RowMix, *, texts: Texts, rng: np.random.Generator
) -> tuple[Int[np.ndarray, "rows pos"], Int[np.ndarray, "rows pos"]]:
    """Make one step's inputs and targets.

    Args:
        rows: how many rows.
        length: tokens a row, ``<bos>`` among the inputs.
        mix: what the rows are made of.
        texts: what they are drawn from.
        rng: the only source of chance.

    Returns:
        Inputs, which start with ``<bos>``, and targets, one token further;
        ``IGNORED`` where the loss leaves a token out.
    """
    inputs = np.full((rows, length), BOS_ID, dtype=np.int64)
    targets = np.empty((rows, length), dtype=np.int64)
    for row in range(rows):
        tokens, counted = make_row(length, mix, texts, rng)
        inputs[row, 1:] = tokens[:-1]
        targets[row] = np.where(counted, tokens, IGNORED)
    return inputs, targets
