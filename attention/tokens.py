"""Text to tokens: ids, labels in which everything is visible, and spans of the source."""

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import SupportsIndex

import regex
import tokenizers

from attention.errors import ModelError, TextError, whole
from attention.labels import byte_alphabet, visible

Ids = Iterable[SupportsIndex]
BLANK = "▁"  # SentencePiece's sign for a blank


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


def read(source: "str | Ids | Tokens", tokenizer: "Tokenizer | None", model: str) -> Tokens:
    """A text, token ids or Tokens as Tokens.

    Args:
        source: what is read.
        tokenizer: of the model; None for one that takes token ids only.
        model: its name, for the error.

    Raises:
        TextError: when it is empty, or a text for a model without a tokenizer.
    """
    if isinstance(source, str):
        if tokenizer is None:
            raise TextError(f"{model} has no tokenizer; give token ids instead of text.")
        if not source:
            raise TextError("text must hold at least one character; got none.")
        tokens = tokenizer.encode(source)
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


class Tokenizer:
    """A tokenizer.json of the Rust `tokenizers` library, with labels and exact spans.

    Args:
        backend: the loaded library object.
    """

    def __init__(self, backend: tokenizers.Tokenizer) -> None:
        backend.no_truncation()  # a file may ask for both: a text cut short in silence, or
        backend.no_padding()  # rows that are not in the text
        self.backend = backend
        self.added = frozenset(backend.get_added_tokens_decoder())
        self._label = cache(self._new_label)  # a long text asks for the same again and again
        self._bytes = cache(self._new_bytes)

    @classmethod
    def from_file(cls, path: Path) -> "Tokenizer":
        """Load a tokenizer.json.

        Raises:
            ModelError: when the file is missing or not a tokenizer.
        """
        if not path.is_file():
            raise ModelError(f"tokenizer must be a file tokenizer.json; {path} does not exist.")
        try:
            return cls(tokenizers.Tokenizer.from_str(path.read_text(encoding="utf-8")))
        except Exception as error:  # the library raises bare Exception
            raise ModelError(
                f"{path} must be a tokenizer.json; it cannot be read: {error}."
            ) from error

    @cached_property
    def _decoder(self) -> str:
        return json.dumps(json.loads(self.backend.to_str())["decoder"], ensure_ascii=False)

    @cached_property
    def is_byte_level(self) -> bool:
        """Whether each token is a run of bytes, written in GPT-2's byte alphabet."""
        return '"ByteLevel"' in self._decoder

    def encode(self, text: str) -> Tokens:
        """Read a text; special tokens such as BOS come where the tokenizer puts them.

        Raises:
            TextError: when the text holds half of a surrogate pair, which is no character, or
                something that the tokenizer has no token for.
        """
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise TextError(
                f"text must be valid Unicode; character {error.start + 1} is "
                f"U+{ord(text[error.start]):04X}, half of a surrogate pair. Remove it."
            ) from error
        try:
            encoding = self.backend.encode(text)
        except Exception as error:  # the library raises bare Exception
            raise TextError(
                f"text must be readable for the model's tokenizer; it says: {error}."
            ) from error
        ids = tuple(encoding.ids)
        return Tokens(text, ids, tuple(map(self.label, ids)), self._spans(text, encoding))

    def decode(self, ids: Sequence[int]) -> str:
        """The text of token ids, special tokens left out."""
        text: str = self.backend.decode(list(ids), skip_special_tokens=True)
        return text

    def label(self, token_id: int) -> str:
        """What to write for a token: never empty, never an invisible character."""
        return self._label(token_id)

    def _new_label(self, token_id: int) -> str:
        in_range = 0 <= token_id < 1 << 32  # all that the library takes
        token = self.backend.id_to_token(token_id) if in_range else None
        if token is None:
            return f"<{token_id}>"
        if token_id in self.added:
            return visible(token)
        if self.is_byte_level:
            return visible(self._bytes(token_id))
        return visible(token.replace(BLANK, " ") if BLANK in self._decoder else token)

    def _new_bytes(self, token_id: int) -> bytes:
        """The bytes of a byte-level token; an added token is written as plain text."""
        token = str(self.backend.id_to_token(token_id))
        alphabet = byte_alphabet()
        if token_id in self.added or any(char not in alphabet for char in token):
            return token.encode()
        return bytes(alphabet[char] for char in token)

    def _spans(self, text: str, encoding: tokenizers.Encoding) -> tuple[tuple[int, int], ...]:
        """Spans of whole characters as a reader sees them (grapheme clusters)."""
        rough = self._byte_spans(text, encoding) if self.is_byte_level else None
        starts, ends = list(range(len(text) + 1)), list(range(len(text) + 1))
        for cluster in regex.finditer(r"\X", text):
            for i in range(cluster.start() + 1, cluster.end()):
                starts[i], ends[i] = cluster.start(), cluster.end()
        spans = encoding.offsets if rough is None else rough
        return tuple((0, 0) if a == b else (starts[a], ends[b]) for a, b in spans)

    def _byte_spans(self, text: str, encoding: tokenizers.Encoding) -> list[tuple[int, int]] | None:
        """Walk the tokens' bytes along the text's; None when they are not the same bytes.

        The library's own offsets leave out blanks where a tokenizer.json asks for it.
        """
        char_of_byte = [i for i, char in enumerate(text) for _ in char.encode()]
        spans: list[tuple[int, int]] = []
        at = 0
        source = text.encode()
        for token_id, put_in in zip(encoding.ids, encoding.special_tokens_mask, strict=True):
            if put_in:  # such as BOS; the same token written in the text is not
                spans.append((0, 0))
                continue
            piece = self._bytes(token_id)
            if not piece or not source.startswith(piece, at):
                return None
            spans.append((char_of_byte[at], char_of_byte[at + len(piece) - 1] + 1))
            at += len(piece)
        return spans if at == len(source) else None
