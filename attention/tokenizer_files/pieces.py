"""A SentencePiece model (BPE or unigram) as a tokenizer of the Rust library.

Source of the rules: sentencepiece's `normalizer.cc`, `bpe_model.cc` and `unigram_model.cc`; its
`sentencepiece_model.proto` says what the file holds.
"""

import re
from collections.abc import Callable, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers

from attention.errors import ModelError
from attention.token_labels import BLANK

UNIGRAM, BPE = 1, 2
NEVER = -1e6  # a log probability
OTHER_MODELS = {3: "whole words", 4: "single characters"}
Check = Callable[[str], Sequence[int]]
Proto = Any  # sentencepiece's ModelProto: generated code without types


class Kind(IntEnum):
    """What a piece is, by sentencepiece's numbers, which are also those of a GGUF file."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


def empty_proto() -> Proto:
    """A SentencePiece model without pieces."""
    from sentencepiece import sentencepiece_model_pb2

    return sentencepiece_model_pb2.ModelProto()  # type: ignore[attr-defined]  # made at run time


def parse_pieces(path: Path) -> Proto:
    """Read a tokenizer.model.

    Raises:
        ModelError: when it is no SentencePiece model.
    """
    proto = empty_proto()
    try:
        proto.ParseFromString(path.read_bytes())
        broken = "" if proto.pieces else "it holds no pieces"
    except Exception as error:  # protobuf's own kind, or no access
        broken = str(error)
    if broken:
        raise ModelError(
            f"{path} must be a SentencePiece model; it cannot be read: {broken}. Where it is a "
            "list of tiktoken ranks, put the model's tokenizer.json beside it instead."
        )
    return proto


def convert_pieces(
    proto: Proto, *, after_special: bool, where: Path | str
) -> tuple[tokenizers.Tokenizer, Check]:
    """Convert a model; control pieces become special tokens.

    Args:
        proto: the model.
        after_special: whether a text after a special token begins with a blank too.
        where: its file, for errors.

    Returns:
        the converted tokenizer, without BOS, and what sentencepiece itself makes of a text: the
        conversion is exact but for corners such as equal merges that overlap.

    Raises:
        ModelError: when the model is of another kind or uses what has no counterpart.
    """
    _require_supported(proto, where)
    check = _own_reading(proto, where)
    try:
        backend = tokenizers.Tokenizer(_model(proto))
    except Exception as error:  # the library raises bare Exception
        raise ModelError(f"{where} must be whole; it cannot be converted: {error}.") from error
    backend.normalizer = _normalizer(proto)
    if (pre_tokenizer := _pre_tokenizer(proto, after_special)) is not None:
        backend.pre_tokenizer = pre_tokenizer
    backend.decoder = _decoder(proto)
    special = [p.piece for p in proto.pieces if p.type in (Kind.CONTROL, Kind.UNKNOWN)]
    backend.add_special_tokens([AddedToken(p, special=True, normalized=False) for p in special])
    return backend, check


def _require_supported(proto: Proto, where: Path | str) -> None:
    kind = proto.trainer_spec.model_type
    if kind not in (UNIGRAM, BPE):
        raise ModelError(
            f"{where} must be a BPE or a unigram model; got one of {OTHER_MODELS.get(kind, kind)}."
        )
    if proto.trainer_spec.treat_whitespace_as_suffix:
        raise ModelError(f"{where} must keep blanks before words; it keeps them after words.")
    if not proto.normalizer_spec.escape_whitespaces:
        raise ModelError(f"{where} must write blanks as {BLANK}; it keeps them as they are.")


def _own_reading(proto: Proto, where: Path | str) -> Check:
    from sentencepiece import SentencePieceProcessor

    try:
        processor = SentencePieceProcessor(model_proto=proto.SerializeToString())
    except (RuntimeError, ValueError) as error:
        raise ModelError(f"{where} must be a whole SentencePiece model; got: {error}.") from error
    read: Check = processor.encode
    return read


def _model(proto: Proto) -> models.Model:
    byte_fallback = proto.trainer_spec.byte_fallback
    if proto.trainer_spec.model_type == UNIGRAM:
        return models.Unigram(
            [(piece.piece, _score(piece)) for piece in proto.pieces],
            unk_id=_unknown(proto)[0],
            byte_fallback=byte_fallback,
        )
    return models.BPE(
        vocab={piece.piece: i for i, piece in enumerate(proto.pieces)},
        merges=_merges(proto),
        unk_token=_unknown(proto)[1],
        fuse_unk=True,
        byte_fallback=byte_fallback,
        ignore_merges=bool(_user_defined(proto)),  # these are whole, whatever they are made of
    )


def _score(piece: Any) -> float:  # noqa: ANN401 - generated code without types
    """Its own; so low that it is never chosen for one that no text stands for."""
    return piece.score if piece.type in (Kind.NORMAL, Kind.USER_DEFINED) else NEVER


def _unknown(proto: Proto) -> tuple[int, str]:
    return next((i, p.piece) for i, p in enumerate(proto.pieces) if p.type == Kind.UNKNOWN)


def _user_defined(proto: Proto) -> list[str]:
    return [p.piece for p in proto.pieces if p.type == Kind.USER_DEFINED]


def _merges(proto: Proto) -> list[tuple[str, str]]:
    """Every pair of pieces that makes a piece, the pair of the best piece first."""
    ranks = {p.piece: (-p.score, i) for i, p in enumerate(proto.pieces) if p.type == Kind.NORMAL}
    pairs = [
        (rank, whole[:cut], whole[cut:])
        for whole, rank in ranks.items()
        for cut in range(1, len(whole))
        if whole[:cut] in ranks and whole[cut:] in ranks
    ]
    return [(left, right) for _, left, right in sorted(pairs)]


def _normalizer(proto: Proto) -> normalizers.Normalizer:
    spec = proto.normalizer_spec
    steps: list[Any] = []
    if spec.precompiled_charsmap:
        steps.append(normalizers.Precompiled(spec.precompiled_charsmap))
    if spec.remove_extra_whitespaces:  # blanks only: newlines and tabs stay
        steps.append(normalizers.Replace(Regex(rf"[ {BLANK}]+\z"), ""))
        steps.append(normalizers.Replace(Regex(" {2,}"), " "))
        if spec.add_dummy_prefix:
            return normalizers.Sequence(steps)
        steps.append(normalizers.Replace(Regex(r"\A "), ""))
    steps.append(normalizers.Replace(" ", BLANK))
    return normalizers.Sequence(steps)


def _pre_tokenizer(proto: Proto, after_special: bool) -> pre_tokenizers.PreTokenizer | None:
    """The blank before the text, and the user's own pieces set apart.

    `Metaspace` puts no blank before a text that begins with its sign for one. sentencepiece does,
    so the sign here is one that the text no longer holds; but where blanks are removed, the one
    that is left at the start is the one before the text.
    """
    steps: list[Any] = []
    if proto.normalizer_spec.add_dummy_prefix:
        scheme = "always" if after_special else "first"
        steps.append(pre_tokenizers.Metaspace(" ", prepend_scheme=scheme, split=False))
        steps.append(pre_tokenizers.Metaspace(BLANK, prepend_scheme="never", split=False))
    if own := sorted(_user_defined(proto), key=len, reverse=True):
        pattern = "|".join(map(re.escape, own))
        steps.append(pre_tokenizers.Split(Regex(pattern), "isolated"))
    return pre_tokenizers.Sequence(steps) if steps else None


def _decoder(proto: Proto) -> decoders.Decoder:
    steps: list[Any] = [decoders.Replace(BLANK, " ")]
    if proto.trainer_spec.byte_fallback:
        steps.append(decoders.ByteFallback())
    steps.append(decoders.Fuse())
    if proto.normalizer_spec.add_dummy_prefix:
        steps.append(decoders.Strip(" ", left=1, right=0))
    return decoders.Sequence(steps)
