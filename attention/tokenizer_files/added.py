"""Added tokens, and those that a tokenizer puts before and after each text."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import tokenizers
from tokenizers import AddedToken, processors

from attention.errors import ModelError
from attention.tokens import Tokenizer

Check = Callable[[str], Sequence[int]]


@dataclass(frozen=True)
class Ends:
    """What goes around a text.

    Attributes:
        bos: the token that may go before it; None for a model without one.
        adds_bos: whether it does by itself.
        eos: the token that may go after it.
        adds_eos: whether it does.
        where: the file that says so, for errors.
    """

    bos: str | None
    adds_bos: bool
    eos: str | None
    adds_eos: bool
    where: Path | str

    def __post_init__(self) -> None:
        """Refuse a token that is to be added and is not named.

        Raises:
            ModelError: when bos or eos is such.
        """
        for name, token, added in (
            ("bos", self.bos, self.adds_bos),
            ("eos", self.eos, self.adds_eos),
        ):
            if added and token is None:
                raise ModelError(
                    f"{self.where} must name the {name} token that it adds; it does not."
                )


def with_ends(backend: tokenizers.Tokenizer, ends: Ends, check: Check | None = None) -> Tokenizer:
    """Let a tokenizer put BOS and EOS around each text.

    Args:
        backend: of the Rust library; gets a post-processor.
        ends: which tokens, and whether they are added.
        check: see `Tokenizer`.

    Raises:
        ModelError: when the vocabulary does not have what is to be added.
    """
    ids = {}
    for name, added in ((ends.bos, ends.adds_bos), (ends.eos, ends.adds_eos)):
        if name is None:
            continue
        token_id = backend.token_to_id(name)
        if token_id is not None:
            ids[name] = token_id
        elif added:
            raise ModelError(f"{ends.where} must hold {name!r}, which it adds; it does not.")
    first = [name for name in (ends.bos,) if ends.adds_bos and name is not None]
    last = [name for name in (ends.eos,) if ends.adds_eos and name is not None]
    if first or last:
        backend.post_processor = processors.TemplateProcessing(
            single=[*first, "$A", *last],
            pair=[*first, "$A", "$B", *last],
            special_tokens=[(name, ids[name]) for name in dict.fromkeys([*first, *last])],
        )
    return Tokenizer(backend, bos_id=None if ends.bos is None else ids.get(ends.bos), check=check)


def add_tokens(
    backend: tokenizers.Tokenizer,
    tokens: Iterable[tuple[int | None, AddedToken]],
    where: Path | str,
) -> None:
    """Add tokens that stand whole in a text, such as <|im_start|>.

    Args:
        backend: what gets them; those it has stay as they are.
        tokens: each with the id it must have; None for one that is left out unless the
            vocabulary has it.
        where: their file, for the error.

    Raises:
        ModelError: when the id would be another one.
    """
    there = {token.content for token in backend.get_added_tokens_decoder().values()}
    for wanted, token in tokens:
        known = backend.token_to_id(token.content)
        if token.content in there or (wanted is None and known is None):
            continue
        add = backend.add_special_tokens if token.special else backend.add_tokens
        add([token])
        there.add(token.content)
        got = backend.token_to_id(token.content)
        if wanted is not None and got != wanted:
            raise ModelError(
                f"{token.content!r} in {where} must be in the vocabulary or follow it; its id is "
                f"to be {wanted} and would be {got}."
            )
