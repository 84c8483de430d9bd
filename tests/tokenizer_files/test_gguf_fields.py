"""The tokenizer of a GGUF file, from its metadata."""

import json

import pytest
from gguf import GGUFReader, GGUFWriter, TokenType
from hypothesis import given
from sentencepiece import SentencePieceProcessor
from transformers import AutoTokenizer

from attention.errors import ModelError
from attention.tokenizer_files import tokenizer_from_gguf
from attention.tokenizer_files.pieces import Kind, empty_proto
from tests.tokenizer_files.samples import (
    AWKWARD,
    CHAT,
    LLAMA,
    TEXTS,
    byte_level_bpe,
    covered,
    pieces,
    spans_of,
)

P = "tokenizer.ggml."


def byte_level_fields(**changes):
    """What llama.cpp's converter writes of a byte-level BPE."""
    backend = byte_level_bpe()
    tokens = [backend.id_to_token(i) for i in range(backend.get_vocab_size())]
    pairs = json.loads(backend.model.__getstate__())["merges"]
    fields = {
        "general.architecture": "llama",
        f"{P}model": "gpt2",
        f"{P}pre": "smollm",
        f"{P}tokens": tokens,
        f"{P}token_type": [Kind.CONTROL] * 2 + [Kind.NORMAL] * (len(tokens) - 2),
        f"{P}merges": list(map(" ".join, pairs)),
        f"{P}bos_token_id": 0,
        f"{P}eos_token_id": 1,
    }
    return with_changes(fields, changes)


def piece_fields(**changes):
    """What it writes of a SentencePiece model."""
    proto = empty_proto()
    proto.ParseFromString(pieces(**LLAMA))
    fields = {
        "general.architecture": "llama",
        f"{P}model": "llama",
        f"{P}tokens": [piece.piece for piece in proto.pieces],
        f"{P}scores": [piece.score for piece in proto.pieces],
        f"{P}token_type": [piece.type for piece in proto.pieces],
        f"{P}bos_token_id": 1,
        f"{P}eos_token_id": 2,
        f"{P}unknown_token_id": 0,
    }
    return with_changes(fields, changes)


def with_changes(fields, changes):
    """Other values; None takes a field away."""
    changed = {**fields, **{f"{P}{name}": value for name, value in changes.items()}}
    return {name: value for name, value in changed.items() if value is not None}


def gguf_file(folder, fields):
    """The metadata as a file that `transformers` opens."""
    path = folder / "tiny.gguf"
    writer = GGUFWriter(str(path), fields["general.architecture"])
    writer.add_context_length(32)
    writer.add_embedding_length(8)
    writer.add_block_count(1)
    writer.add_feed_forward_length(8)
    writer.add_head_count(2)
    writer.add_vocab_size(len(fields[f"{P}tokens"]))
    writer.add_tokenizer_model(fields[f"{P}model"])
    writer.add_token_list(fields[f"{P}tokens"])
    writer.add_token_types([TokenType(int(kind)) for kind in fields[f"{P}token_type"]])
    if f"{P}pre" in fields:
        writer.add_tokenizer_pre(fields[f"{P}pre"])
    if f"{P}merges" in fields:
        writer.add_token_merges(fields[f"{P}merges"])
    if f"{P}scores" in fields:
        writer.add_token_scores(fields[f"{P}scores"])
    for name in ("bos", "eos"):
        writer.add_uint32(f"{P}{name}_token_id", fields[f"{P}{name}_token_id"])
    if f"{P}add_bos_token" in fields:
        writer.add_add_bos_token(fields[f"{P}add_bos_token"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def facts(path):
    return {name: field.contents() for name, field in GGUFReader(str(path)).fields.items()}


BYTES = tokenizer_from_gguf(byte_level_fields())
PIECES = tokenizer_from_gguf(piece_fields())
OWN = SentencePieceProcessor(model_proto=pieces(**LLAMA))


@pytest.mark.parametrize("pre", ["gpt-2", "smollm", "llama-bpe", "qwen2", "qwen35", "tekken"])
def test_byte_level_file_is_read_as_transformers_reads_it(tmp_path, pre):
    path = gguf_file(tmp_path, byte_level_fields(pre=pre, add_bos_token=True))
    ours = tokenizer_from_gguf(facts(path))
    reference = AutoTokenizer.from_pretrained(str(tmp_path), gguf_file=path.name)
    for text in [*AWKWARD, *CHAT]:
        if "e\u0301" in text and ours.backend.normalizer is not None:
            continue  # it leaves out that the model's own tokenizer composes the text
        if pre == "smollm" and any(map(str.isnumeric, text)):
            continue  # and that this one cuts numbers into digits
        assert list(ours.encode(text).ids) == reference(text)["input_ids"], text


def test_pieces_are_read_as_transformers_reads_them(tmp_path):
    path = gguf_file(tmp_path, piece_fields())
    ours = tokenizer_from_gguf(facts(path))
    reference = AutoTokenizer.from_pretrained(str(tmp_path), gguf_file=path.name)
    for text in [*AWKWARD, "a</s>b"]:
        if not text.startswith(" "):  # it loses a blank there that sentencepiece has
            assert list(ours.encode(text).ids) == reference(text)["input_ids"], text


@given(TEXTS)
def test_pieces_are_read_as_sentencepiece_reads_them(text):
    tokens = PIECES.encode(text, bos=False)
    assert covered(tokens) == set(range(len(text)))
    if PIECES.added.isdisjoint(tokens.ids):
        assert list(tokens.ids) == OWN.encode(text)


def test_control_tokens_are_special_and_digits_single():
    tokens = BYTES.encode("<|im_start|>a 12<|endoftext|>")
    assert tokens.labels == ("<|im_start|>", "a", "␣", "1", "2", "<|endoftext|>")
    assert spans_of(tokens) == ["<|im_start|>", "a", " ", "1", "2", "<|endoftext|>"]
    assert BYTES.decode(tokens.ids) == "a 12"


def test_users_own_tokens_stay_whole_and_are_text():
    fields = byte_level_fields()
    fields[f"{P}tokens"] = [*fields[f"{P}tokens"], "<think > é"]
    fields[f"{P}token_type"] = [*fields[f"{P}token_type"], Kind.USER_DEFINED]
    tokenizer = tokenizer_from_gguf(fields)
    tokens = tokenizer.encode("a<think > é")
    assert tokens.labels == ("a", "<think␣>␣é")
    assert tokenizer.decode(tokens.ids) == "a<think > é"


def test_users_own_pieces_are_written_with_blanks():
    fields = piece_fields()
    fields[f"{P}tokens"] = [*fields[f"{P}tokens"], "a  z"]
    fields[f"{P}scores"] = [*fields[f"{P}scores"], -1000.0]
    fields[f"{P}token_type"] = [*fields[f"{P}token_type"], Kind.USER_DEFINED]
    tokens = tokenizer_from_gguf(fields).encode("the a  z", bos=False)
    assert tokens.ids[-1] == len(fields[f"{P}tokens"]) - 1
    assert tokens.labels[-1] == "a␣␣z"


@pytest.mark.parametrize(
    ("fields", "adds"),
    [
        (byte_level_fields(), False),
        (byte_level_fields(add_bos_token=True), True),
        (byte_level_fields(pre="llama-bpe"), True),
        (byte_level_fields(pre="llama-bpe", add_bos_token=False), False),
        (byte_level_fields(bos_token_id=None), False),
        (piece_fields(), True),
        (piece_fields(add_bos_token=False), False),
        (piece_fields(bos_token_id=None, eos_token_id=None, unknown_token_id=None), True),
    ],
)
def test_bos_is_added_where_the_file_says_or_its_kind_expects_it(fields, adds):
    tokenizer = tokenizer_from_gguf(fields)
    assert tokenizer.adds_bos == adds
    assert (tokenizer.encode("a").ids[0] == tokenizer.bos_id) == adds


def test_eos_is_added_where_the_file_says():
    fields = byte_level_fields(add_eos_token=True)
    assert tokenizer_from_gguf(fields).encode("a").labels == ("a", "<|im_start|>")


def test_blank_before_the_text_can_be_off():
    assert PIECES.encode("a", bos=False).labels == ("␣a",)
    fields = piece_fields(add_space_prefix=False)
    assert tokenizer_from_gguf(fields).encode("a", bos=False).labels == ("a",)


def test_words_that_are_tokens_need_no_merges_where_the_kind_says_so():
    fields = byte_level_fields(pre="llama-bpe", add_bos_token=False)
    fields[f"{P}tokens"] = [*fields[f"{P}tokens"], "zzqq"]
    fields[f"{P}token_type"] = [*fields[f"{P}token_type"], Kind.NORMAL]
    assert tokenizer_from_gguf(fields).encode("zzqq").labels == ("zzqq",)
    assert tokenizer_from_gguf({**fields, f"{P}pre": "dbrx"}).encode("zzqq").labels != ("zzqq",)


def test_gpt2_itself_need_not_name_its_kind():
    fields = {**byte_level_fields(pre=None), "general.architecture": "gpt2"}
    expected = tokenizer_from_gguf(byte_level_fields(pre="gpt-2")).encode("if x == 345")
    assert (
        tokenizer_from_gguf(fields).encode("if x == 345") == expected != BYTES.encode("if x == 345")
    )


@pytest.mark.parametrize("kind", [None, "none", "no_vocab"])
def test_file_without_a_tokenizer_has_none(kind):
    assert tokenizer_from_gguf(byte_level_fields(model=kind)) is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (byte_level_fields(model="t5"), r"tokenizer\.ggml\.model must be gpt2 .* got 't5'"),
        (byte_level_fields(pre="bloom"), r"tokenizer\.ggml\.pre must say .* got 'bloom'"),
        (byte_level_fields(pre=None), r"tokenizer\.ggml\.pre must say how words .* got None"),
        (byte_level_fields(merges=None), r"must hold tokenizer\.ggml\.merges; it does not"),
        (byte_level_fields(merges=["ab"]), r"merges of the GGUF file must be two tokens each"),
        (byte_level_fields(merges=["zq qz"]), "must hold a vocabulary and its merges"),
        (byte_level_fields(tokens=None), r"must hold tokenizer\.ggml\.tokens; it does not"),
        (byte_level_fields(tokens=["a", "a"], token_type=[1, 1]), "must differ; got 'a' 2 times"),
        (byte_level_fields(token_type=[1]), "must have an entry for each token; got 1 for 330"),
        (byte_level_fields(bos_token_id=9999), "bos_token_id must be 0 to 329; got 9999"),
        (
            byte_level_fields(bos_token_id=None, add_bos_token=True),
            "must name the bos token that it adds",
        ),
        (piece_fields(scores=None), r"must hold tokenizer\.ggml\.scores; it does not"),
        (piece_fields(scores=[0.0]), "must have an entry for each token; got 1 for"),
        (
            piece_fields(scores=[-1000.0] * len(piece_fields()[f"{P}tokens"])),
            r"scores must rank the tokens; they are all -1000",
        ),
        (piece_fields(token_type=[0] * len(piece_fields()[f"{P}tokens"])), "must be 1 to 6; got 0"),
    ],
)
def test_what_would_be_read_wrong_is_refused_by_name(fields, message):
    with pytest.raises(ModelError, match=message):
        tokenizer_from_gguf(fields)
