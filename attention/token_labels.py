"""What a token of any tokenizer stands for, as a label in which everything is visible."""

import re
from functools import cache

import tokenizers

from attention.labels import byte_alphabet, visible
from attention.tokenizer_parts import written

BLANK = "▁"  # SentencePiece's sign for a blank
BYTE_PIECE = re.compile("<0x([0-9A-F]{2})>")  # and its token for a byte


class TokenLabels:
    """The label of each token of a tokenizer; each is worked out once.

    Args:
        backend: the loaded library object.
        added: ids of the added tokens, which stand for themselves.
    """

    def __init__(self, backend: tokenizers.Tokenizer, added: frozenset[int]) -> None:
        steps = (backend.normalizer, backend.pre_tokenizer, backend.decoder)
        all_steps = "".join(map(written, steps))
        self.byte_level = '"ByteLevel"' in all_steps
        self._marks_blanks = BLANK in all_steps
        self._has_bytes = '"ByteFallback"' in all_steps or bool(
            getattr(backend.model, "byte_fallback", False)
        )
        self._backend, self._added = backend, added
        self.label = cache(self._label)  # a long text asks for the same again and again

    def _label(self, token_id: int) -> str:
        in_range = 0 <= token_id < 1 << 32  # all that the library takes
        token = self._backend.id_to_token(token_id) if in_range else None
        if token is None:
            return f"<{token_id}>"
        return visible(token if token_id in self._added else self._stands_for(token))

    def _stands_for(self, token: str) -> bytes | str:
        """The text or the bytes that a token of the vocabulary stands for."""
        if self.byte_level:
            alphabet = byte_alphabet()
            if all(char in alphabet for char in token):
                return bytes(alphabet[char] for char in token)
            return token  # one that was added as plain text
        if self._has_bytes and (byte := BYTE_PIECE.fullmatch(token)):
            return bytes([int(byte[1], 16)])
        return token.replace(BLANK, " ") if self._marks_blanks else token
