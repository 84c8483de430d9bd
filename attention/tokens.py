"""Text to tokens: ids, labels in which everything is visible, and spans of the source."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import SupportsIndex

import regex
import tokenizers

from attention.errors import ModelError, TextError, whole
from attention.labels import visible
from attention.token_labels import BLANK, TokenLabels
from attention.tokenizer_parts import may_leave_out, put_before, read_whole_and_exactly

Ids = Iterable[SupportsIndex]


@dataclass(frozen=True)
class Tokens:
    """A text as a model reads it.

    Attributes:
        text: the source; empty where only ids were given.
        ids: (T,) token ids, BOS included.
        labels: (T,) what to write beside each row: blanks and bytes made visible.
        offsets: (T,) pairs (start, end) of characters in `text`; (0, 0) for BOS and for ids
            without a text. A piece of a character has the whole character's span.
    """

    text: str
    ids: tuple[int, ...]
    labels: tuple[str, ...]
    offsets: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        """Check that each token has its label and span, and that the ids are whole numbers.

        Raises:
            TextError: when one is missing, or an id is no int.
        """
        counts = {len(self.ids), len(self.labels), len(self.offsets)}
        if len(counts) > 1:
            raise TextError(
                f"ids, labels and offsets of tokens must be equally many; got {len(self.ids)}, "
                f"{len(self.labels)} and {len(self.offsets)}."
            )
        for token_id in self.ids:
            _whole(token_id)

    def __len__(self) -> int:
        """How many tokens there are, BOS included."""
        return len(self.ids)

    def first(self, count: int) -> "Tokens":
        """The first `count` tokens; the text and the spans stay those of the whole."""
        return type(self)(self.text, self.ids[:count], self.labels[:count], self.offsets[:count])

    def __add__(self, more: "Tokens") -> "Tokens":
        """These and more tokens; the text stays this one, in which `more` has no spans."""
        return type(self)(
            self.text,
            self.ids + more.ids,
            self.labels + more.labels,
            self.offsets + ((0, 0),) * len(more),
        )

    @classmethod
    def from_ids(cls, ids: Ids, tokenizer: "Tokenizer | None" = None) -> "Tokens":
        """Tokens from ids alone: no BOS is added, and there are no spans.

        Raises:
            TextError: when something is not a whole number.
        """
        if isinstance(ids, bytes | bytearray | Mapping | Set) or not isinstance(ids, Iterable):
            raise TextError(f"text must be a text or a row of token ids; got {type(ids).__name__}.")
        plain = tuple(map(_whole, ids))
        label = str if tokenizer is None else tokenizer.label
        return cls("", plain, tuple(map(label, plain)), ((0, 0),) * len(plain))


def read(
    source: "str | Ids | Tokens",
    tokenizer: "Tokenizer | None",
    model: str,
    *,
    bos: bool | None = None,
) -> Tokens:
    """A text, token ids or Tokens as Tokens.

    Args:
        source: what is read.
        tokenizer: of the model; None for one that takes token ids only.
        model: its name, for the error.
        bos: whether BOS comes before a text; None: as the model expects.

    Raises:
        TextError: when it is empty, or a text for a model without a tokenizer.
    """
    if isinstance(source, str):
        if tokenizer is None:
            raise TextError(f"{model} has no tokenizer; give token ids instead of text.")
        if not source:
            raise TextError("text must hold at least one character; got none.")
        tokens = tokenizer.encode(source, bos)
    else:
        tokens = source if isinstance(source, Tokens) else Tokens.from_ids(source, tokenizer)
    if not tokens.ids:
        raise TextError("text must hold at least one token; got none.")
    return tokens


def _whole(token_id: object) -> int:
    """A token id of numpy or torch as a plain number."""
    plain = whole(token_id)
    if plain is None:
        raise TextError(f"token ids must be whole numbers; got {token_id!r}.")
    return plain


def _require_characters(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise TextError(
            f"text must be valid Unicode; character {error.start + 1} is "
            f"U+{ord(text[error.start]):04X}, half of a surrogate pair. Remove it."
        ) from error


def _is_blank(char: str) -> bool:
    return char.isspace() or char == BLANK


class Tokenizer:
    """A tokenizer of the Rust `tokenizers` library, with labels, exact spans and one BOS.

    Args:
        backend: the loaded library object.
        bos_id: the token that may be put first where the library's object puts none.
        check: what the ids of a text without added tokens must be; a text for which they
            differ is refused. None where the library is the authority.
    """

    def __init__(
        self,
        backend: tokenizers.Tokenizer,
        *,
        bos_id: int | None = None,
        check: Callable[[str], Sequence[int]] | None = None,
    ) -> None:
        read_whole_and_exactly(backend)
        self.backend = backend
        self.added = frozenset(backend.get_added_tokens_decoder())
        self._before = put_before(backend)
        self._bos = self._before or (() if bos_id is None else (bos_id,))
        self._check = check
        self._labels = TokenLabels(backend, self.added)
        self._may_leave_out = may_leave_out(backend, byte_level=self._labels.byte_level)

    @classmethod
    def from_file(cls, path: Path, *, bos_id: int | None = None) -> "Tokenizer":
        """Load a tokenizer.json.

        Raises:
            ModelError: when the file is missing or not a tokenizer.
        """
        if not path.is_file():
            raise ModelError(f"tokenizer must be a file tokenizer.json; {path} does not exist.")
        try:
            backend = tokenizers.Tokenizer.from_str(path.read_text(encoding="utf-8"))
            return cls(backend, bos_id=bos_id)
        except Exception as error:  # the library raises bare Exception
            raise ModelError(
                f"{path} must be a tokenizer.json; it cannot be read: {error}."
            ) from error

    @property
    def adds_bos(self) -> bool:
        """Whether the model expects a BOS, so that `encode` puts it first by itself."""
        return bool(self._before)

    @property
    def bos_id(self) -> int | None:
        """The token that `encode` puts first, or would; None for a model without one."""
        return self._bos[0] if self._bos else None

    @property
    def is_byte_level(self) -> bool:
        """Whether each token is a run of bytes, written in GPT-2's byte alphabet."""
        return self._labels.byte_level

    def encode(self, text: str, bos: bool | None = None) -> Tokens:
        """Read a text; what the tokenizer puts in, such as BOS, has no span in it.

        A text that itself begins with the written BOS gets no second one.

        Args:
            text: what is read.
            bos: whether BOS comes first; None: as the model expects.

        Raises:
            TextError: when the text holds half of a surrogate pair, which is no character, or
                something that the tokenizer has no token for; or when a BOS is asked for that
                the model does not have.
        """
        _require_characters(text)
        if bos and not self._bos:
            raise TextError("bos must be off: the model's tokenizer has no BOS token; got on.")
        encoding = self._encoding(text)
        mask = encoding.special_tokens_mask
        own = tuple(i for i, put_in in zip(encoding.ids, mask, strict=True) if not put_in)
        self._require_agreement(text, own)
        ids, spans = tuple(encoding.ids), self._spans(text, encoding)
        given = len(self._before)
        ids, spans = ids[given:], spans[given:]
        wanted = self.adds_bos if bos is None else bos
        if wanted and own[: len(self._bos)] != self._bos:
            ids, spans = self._bos + ids, ((0, 0),) * len(self._bos) + spans
        return Tokens(text, ids, tuple(map(self.label, ids)), spans)

    def _encoding(self, text: str) -> tokenizers.Encoding:
        try:
            encoding = self.backend.encode(text)
        except Exception as error:  # the library raises bare Exception
            missing = self._without_token(text)
            reason = f"it says: {error}" if missing is None else f"it has no token for {missing}"
            raise TextError(
                f"text must be readable for the model's tokenizer; {reason}."
            ) from error
        if self._may_leave_out and (missing := self._without_token(text)) is not None:
            raise TextError(
                "text must be readable for the model's tokenizer; it has no token for "
                f"{missing}, and would leave it out."
            )
        return encoding

    def _without_token(self, text: str) -> str | None:
        """The first character, other than blanks, that alone gives no token; how to write it."""
        for char in dict.fromkeys(text):
            try:
                ids = self.backend.encode(char, add_special_tokens=False).ids
            except Exception:  # the library raises bare Exception
                ids = []
            if not ids and not char.isspace():
                return f"{visible(char)!r} (U+{ord(char):04X})"
        return None

    def _require_agreement(self, text: str, ids: tuple[int, ...]) -> None:
        if self._check is None or not self.added.isdisjoint(ids):
            return
        expected = tuple(self._check(text))
        if ids != expected:
            alike = [a == b for a, b in zip(ids, expected, strict=False)]
            first = [*alike, False].index(False)
            before = self.decode(ids[max(0, first - 4) : first])
            raise TextError(
                "text must be split alike by SentencePiece and by its conversion; they differ "
                f"from token {first + 1} on, after {before!r}. Change the text there, or put the "
                "model's tokenizer.json beside its other files."
            )

    def decode(self, ids: Sequence[int]) -> str:
        """The text of token ids, special tokens left out."""
        text: str = self.backend.decode(list(ids), skip_special_tokens=True)
        return text

    def label(self, token_id: int) -> str:
        """What to write for a token: never empty, never an invisible character."""
        return self._labels.label(token_id)

    def _spans(self, text: str, encoding: tokenizers.Encoding) -> tuple[tuple[int, int], ...]:
        """Spans of whole characters as a reader sees them (grapheme clusters).

        A blank that the tokenizer put before the text has none. What a normalizer leaves out,
        such as the second of two blanks, is in no span.
        """
        starts, ends = list(range(len(text) + 1)), list(range(len(text) + 1))
        for cluster in regex.finditer(r"\X", text):
            for i in range(cluster.start() + 1, cluster.end()):
                starts[i], ends[i] = cluster.start(), cluster.end()
        spans, offsets = [], encoding.offsets
        for token_id, here, after in zip(
            encoding.ids, offsets, [*offsets[1:], (0, 0)], strict=False
        ):
            start, end = here
            blank = any(map(_is_blank, text[start:end]))
            shared = after[0] == start < after[1]  # the next token has this blank
            put_in = self.label(token_id) == "␣" and (shared or not blank)
            spans.append((0, 0) if start == end or put_in else (starts[start], ends[end]))
        return tuple(spans)
