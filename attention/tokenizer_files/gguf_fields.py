"""The tokenizer that a GGUF file's metadata describes.

Source of the keys and of what holds where one is missing: the GGUF specification and llama.cpp's
`src/llama-vocab.cpp`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tokenizers import AddedToken

from attention.errors import ModelError
from attention.token_labels import BLANK
from attention.tokenizer_files.added import Ends, add_tokens, with_ends
from attention.tokenizer_files.byte_level import byte_level, merge_pairs
from attention.tokenizer_files.pieces import BPE, Kind, Proto, convert_pieces, empty_proto
from attention.tokenizer_files.splits import WORD_SPLITS
from attention.tokens import Tokenizer

PREFIX = "tokenizer.ggml."
WHERE = "the GGUF file"
NONE = (None, "none", "no_vocab")
LLAMA_IDS = {"bos": 1, "eos": 2, "unknown": 0}  # of a SentencePiece model that names none


def tokenizer_from_gguf(fields: Mapping[str, Any]) -> Tokenizer | None:
    """Build the tokenizer of a GGUF file.

    Args:
        fields: the file's metadata: each key with its value, lists as lists.

    Returns:
        the tokenizer; None when the file has none.

    Raises:
        ModelError: when it is of a kind that is not supported, or lacks what it needs.
    """
    kind = fields.get(f"{PREFIX}model")
    if kind in NONE:
        return None
    if kind == "gpt2":
        return _byte_level(fields)
    if kind == "llama":
        return _pieces(fields)
    raise ModelError(
        f"{PREFIX}model must be gpt2 (byte-level BPE) or llama (SentencePiece BPE); got {kind!r}."
    )


def _byte_level(fields: Mapping[str, Any]) -> Tokenizer:
    name = fields.get(f"{PREFIX}pre")
    if name is None and fields.get("general.architecture") == "gpt2":
        name = "gpt-2"
    if name not in WORD_SPLITS:
        raise ModelError(
            f"{PREFIX}pre must say how words are cut, as one of {', '.join(WORD_SPLITS)}; "
            f"got {name!r}. Convert the model again, or give token ids."
        )
    words = WORD_SPLITS[name]
    tokens, kinds = _vocabulary(fields)
    merges = merge_pairs(_required(fields, "merges"), WHERE)
    backend = byte_level({token: i for i, token in enumerate(tokens)}, merges, words, where=WHERE)
    add_tokens(backend, _whole_tokens(tokens, kinds), WHERE)
    return with_ends(backend, _ends(fields, tokens, adds_bos=words.adds_bos))


def _pieces(fields: Mapping[str, Any]) -> Tokenizer:
    defaults = {f"{PREFIX}{name}_token_id": i for name, i in LLAMA_IDS.items()}
    fields = {**defaults, **fields}
    tokens, kinds = _vocabulary(fields)
    proto = _proto(fields, tokens, kinds)
    backend, check = convert_pieces(proto, after_special=False, where=WHERE)
    return with_ends(backend, _ends(fields, tokens, adds_bos=True), check)


def _vocabulary(fields: Mapping[str, Any]) -> tuple[list[str], list[int]]:
    tokens = [token or f"[EMPTY_{i}]" for i, token in enumerate(_required(fields, "tokens"))]
    kinds = list(fields.get(f"{PREFIX}token_type") or [Kind.NORMAL] * len(tokens))
    if len(kinds) != len(tokens):
        raise ModelError(
            f"{PREFIX}token_type must have an entry for each token; got {len(kinds)} for "
            f"{len(tokens)}."
        )
    token, count = Counter(tokens).most_common(1)[0]
    if count > 1:
        raise ModelError(f"{PREFIX}tokens must differ; got {token!r} {count} times.")
    return tokens, kinds


def _required(fields: Mapping[str, Any], name: str) -> Sequence[Any]:
    values = fields.get(f"{PREFIX}{name}")
    if not isinstance(values, Sequence) or isinstance(values, str) or not values:
        raise ModelError(f"{WHERE} must hold {PREFIX}{name}; it does not.")
    return values


def _whole_tokens(tokens: Sequence[str], kinds: Sequence[int]) -> list[tuple[int, AddedToken]]:
    """Control tokens, which are special, and the user's own: both stand whole in a text."""
    return [
        (i, AddedToken(token, special=kind != Kind.USER_DEFINED, normalized=False))
        for i, (token, kind) in enumerate(zip(tokens, kinds, strict=True))
        if kind in (Kind.CONTROL, Kind.USER_DEFINED, Kind.UNKNOWN)
    ]


def _ends(fields: Mapping[str, Any], tokens: Sequence[str], *, adds_bos: bool) -> Ends:
    return Ends(
        bos=_named(fields, tokens, "bos"),
        adds_bos=bool(fields.get(f"{PREFIX}add_bos_token", adds_bos)),
        eos=_named(fields, tokens, "eos"),
        adds_eos=bool(fields.get(f"{PREFIX}add_eos_token", False)),
        where=WHERE,
    )


def _named(fields: Mapping[str, Any], tokens: Sequence[str], name: str) -> str | None:
    key = f"{PREFIX}{name}_token_id"
    token_id = fields.get(key)
    if token_id is None:
        return None
    if not 0 <= token_id < len(tokens):
        raise ModelError(f"{key} must be 0 to {len(tokens) - 1}; got {token_id}.")
    return str(tokens[token_id])


def _proto(fields: Mapping[str, Any], tokens: Sequence[str], kinds: Sequence[int]) -> Proto:
    """The metadata as the SentencePiece model they were taken from."""
    proto = empty_proto()
    scores = _scores(fields, tokens, kinds)
    unknown = fields[f"{PREFIX}unknown_token_id"]
    for i, (token, kind, score) in enumerate(zip(tokens, kinds, scores, strict=True)):
        if kind not in tuple(Kind):
            raise ModelError(f"{PREFIX}token_type must be 1 to 6; got {kind} for {token!r}.")
        piece = token.replace(" ", BLANK) if kind == Kind.USER_DEFINED else token
        proto.pieces.add(piece=piece, score=score, type=Kind.UNKNOWN if i == unknown else int(kind))
    spec = proto.trainer_spec
    spec.model_type, spec.unk_id, spec.unk_piece = BPE, unknown, tokens[unknown]
    spec.byte_fallback = Kind.BYTE in kinds
    normalizer = proto.normalizer_spec
    normalizer.name = "identity"
    normalizer.add_dummy_prefix = bool(fields.get(f"{PREFIX}add_space_prefix", True))
    normalizer.remove_extra_whitespaces = bool(
        fields.get(f"{PREFIX}remove_extra_whitespaces", False)
    )
    return proto


def _scores(
    fields: Mapping[str, Any], tokens: Sequence[str], kinds: Sequence[int]
) -> Sequence[float]:
    scores = _required(fields, "scores")
    if len(scores) != len(tokens):
        raise ModelError(
            f"{PREFIX}scores must have an entry for each token; got {len(scores)} for "
            f"{len(tokens)}."
        )
    long = {
        score
        for token, kind, score in zip(tokens, kinds, scores, strict=True)
        if kind == Kind.NORMAL and len(token) > 1
    }
    count = sum(kind == Kind.NORMAL and len(t) > 1 for t, kind in zip(tokens, kinds, strict=True))
    if count > 1 and len(long) == 1:
        raise ModelError(f"{PREFIX}scores must rank the tokens; they are all {scores[0]}.")
    return scores
