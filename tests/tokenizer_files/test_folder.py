"""Whatever files lie in a folder: read as `transformers` reads them, or refused by name."""

import json
import shutil

import pytest
from hypothesis import given
from sentencepiece import SentencePieceProcessor
from tokenizers import AddedToken, decoders, normalizers, pre_tokenizers, processors
from transformers import (
    GemmaTokenizer,
    GPT2Tokenizer,
    GPTNeoXTokenizer,
    LlamaTokenizer,
    Qwen2Tokenizer,
)

from attention.errors import ModelError
from attention.tokenizer_files import find_tokenizer
from attention.tokenizer_files.pieces import convert_pieces, empty_proto
from attention.tokens import Tokenizer
from tests.builders import tokenizer_file
from tests.tokenizer_files.samples import (
    AWKWARD,
    LLAMA,
    TEXTS,
    byte_level_bpe,
    covered,
    pieces,
    pieces_folder,
    same_as_transformers,
    spans_of,
    vocab_and_merges,
    write_json,
)


def fresh(**parts):
    """A byte-level tokenizer whose steps are replaced."""
    backend = type(byte_level_bpe()).from_str(byte_level_bpe().to_str())
    for name, part in parts.items():
        setattr(backend, name, part)
    return backend


# ------------------------------------------------------------------ tokenizer.json


def test_folder_without_a_tokenizer_has_none(tmp_path):
    write_json(tmp_path / "config.json", {"model_type": "gpt2"})
    assert find_tokenizer(tmp_path) is None


def test_tokenizer_json_comes_before_all_others(tmp_path):
    vocab_and_merges(pieces_folder(tmp_path, **LLAMA))
    (tmp_path / "tokenizer.model").write_bytes(b"broken")
    tokenizer_file(tmp_path, fresh(pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=True)))
    assert find_tokenizer(tmp_path).encode("cat").labels == ("␣cat",)


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"normalizer": normalizers.NFC()},
        {"normalizer": normalizers.NFKC()},
        {"normalizer": normalizers.Lowercase()},
        {"normalizer": normalizers.Strip()},
        {"normalizer": normalizers.Prepend("_")},
        {"normalizer": normalizers.Replace("cat", "dog")},
        {"normalizer": normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()])},
        {"pre_tokenizer": pre_tokenizers.ByteLevel(add_prefix_space=True)},
        {"post_processor": processors.ByteLevel(trim_offsets=True)},
        {
            "post_processor": processors.TemplateProcessing(
                single="<|endoftext|> $A <|im_start|>",
                special_tokens=[("<|endoftext|>", 0), ("<|im_start|>", 1)],
            )
        },
    ],
)
def test_tokenizer_json_is_read_as_transformers_reads_it(tmp_path, parts):
    tokenizer_file(tmp_path, fresh(**parts))
    write_json(tmp_path / "tokenizer_config.json", {"tokenizer_class": "TokenizersBackend"})
    ours = same_as_transformers(tmp_path)
    for text in AWKWARD:
        tokens = ours.encode(text, bos=False)
        assert all(0 <= start <= end <= len(text) for start, end in tokens.offsets)
        assert all(tokens.labels)


@given(TEXTS)
def test_text_composed_first_has_spans_of_the_source(text):
    tokens = Tokenizer(fresh(normalizer=normalizers.NFC())).encode(text)
    assert covered(tokens) == set(range(len(text)))
    assert list(tokens.offsets) == sorted(tokens.offsets)


@pytest.mark.parametrize(
    ("normalizer", "text", "spans"),
    [
        (normalizers.Lowercase(), "The CAT", ["The", " CAT"]),
        (normalizers.Strip(), "  cat ", ["c", "at"]),
        (normalizers.NFC(), "cafe\u0301", ["c", "af", "e\u0301"]),
        (normalizers.Replace("  ", " "), "a  cat", ["a", " cat"]),  # one of two is left
    ],
)
def test_spans_after_a_normalizer_are_those_of_the_source(normalizer, text, spans):
    tokens = Tokenizer(fresh(normalizer=normalizer)).encode(text)
    assert list(dict.fromkeys(span for span in spans_of(tokens) if span)) == spans


def test_tokens_added_beside_the_file_are_special_too(tmp_path):
    tokenizer_file(tmp_path, fresh())
    cat = byte_level_bpe().token_to_id("Ġcat")
    count = byte_level_bpe().get_vocab_size()
    added = {str(count): {"content": "<new>", "special": True, "lstrip": True, "normalized": False}}
    settings = {"added_tokens_decoder": added, "eos_token": "Ġcat", "pad_token": "<absent>"}
    write_json(tmp_path / "tokenizer_config.json", settings)
    tokenizer = find_tokenizer(tmp_path)
    tokens = tokenizer.encode("a  <new>b")
    assert (tokens.ids[1], spans_of(tokens)) == (count, ["a", "  <new>", "b"])
    assert cat in tokenizer.added
    assert tokenizer.decode(tokens.ids) == "ab"


@pytest.mark.parametrize(
    ("post_processor", "settings", "adds", "bos"),
    [
        (None, {"bos_token": "<|endoftext|>", "add_bos_token": True}, True, 0),
        (None, {"bos_token": "<|endoftext|>"}, False, 0),
        (None, {"bos_token": "<|endoftext|>", "add_bos_token": False}, False, 0),
        (None, {}, False, None),
        (processors.ByteLevel(), {"bos_token": "<|endoftext|>", "add_bos_token": True}, False, 0),
    ],
)
def test_file_decides_on_bos_and_what_lies_beside_it_where_it_is_silent(
    tmp_path, post_processor, settings, adds, bos
):
    backend = fresh()
    if post_processor is not None:
        backend.post_processor = post_processor
    tokenizer_file(tmp_path, backend)
    write_json(tmp_path / "tokenizer_config.json", settings)
    tokenizer = find_tokenizer(tmp_path)
    assert (tokenizer.adds_bos, tokenizer.bos_id) == (adds, bos)


def test_eos_is_added_where_the_folder_says_with_or_without_bos(tmp_path):
    tokenizer_file(tmp_path, fresh())
    settings = {"eos_token": "<|im_start|>", "add_eos_token": True}
    write_json(tmp_path / "tokenizer_config.json", settings)
    assert find_tokenizer(tmp_path).encode("a").labels == ("a", "<|im_start|>")


def test_bos_that_the_vocabulary_does_not_have_is_refused(tmp_path):
    tokenizer_file(tmp_path, fresh())
    settings = {"bos_token": "<absent>", "add_bos_token": True}
    write_json(tmp_path / "tokenizer_config.json", settings)
    with pytest.raises(ModelError, match=r"must hold '<absent>', which it adds; it does not"):
        find_tokenizer(tmp_path)


def test_stripping_and_single_word_tokens_have_their_spans():
    backend = fresh(decoder=decoders.ByteLevel())
    backend.add_tokens(
        [
            AddedToken("<l>", lstrip=True, normalized=False),
            AddedToken("<r>", rstrip=True, normalized=False),
            AddedToken("dog", single_word=True, normalized=False),
        ]
    )
    tokens = Tokenizer(backend).encode("a  <l> <r>  dog")
    assert spans_of(tokens) == ["a", "  <l>", " ", "<r>  ", "dog"]
    assert tokens.labels == ("a", "<l>", "␣", "<r>", "dog")
    assert "dog" not in Tokenizer(backend).encode("hotdogs").labels


# ------------------------------------------------------------------ as the hub has them


def as_llama_2():
    """Its tokenizer.json: the blank before the text comes from a normalizer."""
    proto = empty_proto()
    proto.ParseFromString(pieces(**LLAMA))
    backend = convert_pieces(proto, after_special=False, where="")[0]
    steps = [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    made = type(backend)(backend.model)
    made.normalizer = normalizers.Sequence(steps)
    made.decoder = backend.decoder
    made.add_special_tokens(["<unk>", "<s>", "</s>"])
    made.post_processor = processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", 1)])
    return Tokenizer(made)


LLAMA_2 = as_llama_2()
OWN = SentencePieceProcessor(model_proto=pieces(**LLAMA))


@given(TEXTS)
def test_llama_2_is_read_as_sentencepiece_reads_it(text):
    tokens = LLAMA_2.encode(text)
    assert (tokens.ids[0], tokens.labels[0], tokens.offsets[0]) == (1, "<s>", (0, 0))
    assert covered(tokens) == set(range(len(text)))
    assert LLAMA_2.decode(tokens.ids) == text.replace("▁", " ")
    if not {0, 2} & set(tokens.ids):
        assert list(tokens.ids[1:]) == OWN.encode(text)


def test_llama_2_has_the_spans_of_the_source():
    assert spans_of(LLAMA_2.encode("😀 the")) == ["", "", *["😀"] * 4, " the"]
    assert spans_of(LLAMA_2.encode("the</s>the")) == ["", "the", "</s>", "the"]


# ------------------------------------------------------------------ what cannot be read


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("tekken.json", "Mistral's tekken ranks"),
        ("qwen.tiktoken", "tiktoken's ranks"),
        ("vocab.txt", "WordPiece"),
        ("vocab.json", "a vocabulary without its merges.txt"),
        ("merges.txt", r"merges without their vocab\.json"),
    ],
)
def test_tokenizer_of_another_kind_is_refused_by_name(tmp_path, name, kind):
    (tmp_path / name).write_text("x")
    with pytest.raises(
        ModelError, match=rf"{name} must come with the model's tokenizer.json; .*{kind}"
    ):
        find_tokenizer(tmp_path)


def test_other_name_of_a_sentencepiece_model_is_known(tmp_path):
    pieces_folder(tmp_path, **LLAMA)
    shutil.move(tmp_path / "tokenizer.model", tmp_path / "spiece.model")
    assert find_tokenizer(tmp_path).encode("a").labels == ("<s>", "␣a")


# ------------------------------------------------------------------ what `transformers` saves


def saved(folder, kind, **options):
    """A tokenizer of one of its classes, as `save_pretrained` writes it."""
    if kind in (LlamaTokenizer, GemmaTokenizer):
        proto = empty_proto()
        proto.ParseFromString(pieces(**LLAMA))
        vocab = {piece.piece: i for i, piece in enumerate(proto.pieces)}
        merges = convert_pieces(proto, after_special=False, where="")[0].model
    else:
        vocab, merges = byte_level_bpe().get_vocab(), byte_level_bpe().model
    pairs = [tuple(pair) for pair in json.loads(merges.__getstate__())["merges"]]
    kind(vocab=vocab, merges=pairs, **options).save_pretrained(folder)
    return folder


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (GPT2Tokenizer, {}),
        (GPT2Tokenizer, {"add_bos_token": True}),
        (GPT2Tokenizer, {"add_prefix_space": True, "bos_token": "<|im_start|>"}),
        (Qwen2Tokenizer, {"extra_special_tokens": ["<|im_start|>", "<|im_end|>"]}),
        (GPTNeoXTokenizer, {}),
        (GPTNeoXTokenizer, {"bos_token": "<|im_start|>"}),
        (LlamaTokenizer, {}),
        (LlamaTokenizer, {"add_bos_token": True}),
        (LlamaTokenizer, {"add_prefix_space": False}),
        (GemmaTokenizer, {"bos_token": "<s>", "eos_token": "</s>", "add_bos_token": True}),
    ],
)
def test_tokenizer_that_transformers_saved_is_read_as_it_reads_it(tmp_path, kind, options):
    same_as_transformers(saved(tmp_path, kind, **options))
