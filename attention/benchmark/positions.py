"""Which positions of a text a pass computes, and to which they attend, in numbers and letters."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Count:
    """A number, and how it is written where seq_len is T."""

    value: int
    written: str


@dataclass(frozen=True)
class Positions:
    """How much of each sequence is computed.

    Attributes:
        queries: positions that are computed.
        keys: positions that they attend to.
        square: cells of a head's pattern.
        triangle: those that the queries may see.
        masked: whether some of the square is hidden.
    """

    queries: Count
    keys: Count
    square: Count
    triangle: Count
    masked: bool


def whole(seq_len: int) -> Positions:
    """Every position of a text, each with itself and all before it."""
    every = Count(seq_len, "T")
    return Positions(
        queries=every,
        keys=every,
        square=Count(seq_len**2, "T²"),
        triangle=Count(seq_len * (seq_len + 1) // 2, "T·(T + 1)/2"),
        masked=True,
    )


def one_more(seq_len: int) -> Positions:
    """One position after a text, which sees all of it and itself."""
    row = Count(seq_len + 1, "(T + 1)")
    return Positions(queries=Count(1, "1"), keys=row, square=row, triangle=row, masked=False)
