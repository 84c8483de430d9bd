import pytest
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers

from attention.tokens import Tokenizer
from tests.builders import byte_level_backend

TOKENIZER = Tokenizer(byte_level_backend())


def spans_of(tokens):
    return [tokens.text[start:end] for start, end in tokens.offsets]


def test_added_token_with_an_accent_is_labelled_as_it_is():
    # é is also the byte 0xE9 in the alphabet of byte-level tokens.
    backend = byte_level_backend()
    backend.add_tokens(["né"])
    tokens = Tokenizer(backend).encode("a né")
    assert tokens.labels[-1] == "né"
    assert spans_of(tokens)[-1] == "né"


def test_sentencepiece_blanks_and_bytes_are_labelled_alike():
    pieces = {"<unk>": 0, "▁": 1, "a": 2, "▁a": 3, "<0xC3>": 4, "<0xA9>": 5, "b": 6}
    backend = tokenizers.Tokenizer(
        models.BPE(pieces, [("▁", "a")], unk_token="<unk>", byte_fallback=True)
    )
    backend.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    backend.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    tokens = Tokenizer(backend).encode("a é")
    assert tokens.labels == ("␣a", "␣", "<0xC3>", "<0xA9>")
    assert spans_of(tokens)[-2:] == ["é", "é"]


@pytest.mark.parametrize("token_id", [-1, 99_999, 2**32, 10**30])
def test_id_outside_the_vocabulary_still_has_a_label(token_id):
    # The library takes 32 bits: -1 ended in an OverflowError.
    assert TOKENIZER.label(token_id) == f"<{token_id}>"


def test_tokens_for_the_bytes_of_blanks_are_labelled_as_blanks():
    backend = tokenizers.Tokenizer(models.BPE({"<0x0A>": 0, "<0x09>": 1, "<0x41>": 2}, []))
    backend.decoder = decoders.ByteFallback()
    tokenizer = Tokenizer(backend)
    assert [tokenizer.label(i) for i in range(3)] == ["\\n", "\\t", "A"]


def test_token_that_looks_like_a_byte_is_text_where_bytes_have_no_tokens():
    backend = tokenizers.Tokenizer(models.BPE({"<0x0A>": 0, "a": 1, "▁": 2}, []))
    assert Tokenizer(backend).label(0) == "<0x0A>"
    assert Tokenizer(backend).label(2) == "▁"


@pytest.mark.parametrize("step", ["pre_tokenizer", "decoder"])
def test_byte_level_is_known_by_either_step(step):
    # A file without a decoder showed the byte alphabet: `Ġcat`.
    backend = byte_level_backend()
    alone = tokenizers.Tokenizer(backend.model)
    setattr(alone, step, getattr(backend, step))
    tokenizer = Tokenizer(alone)
    assert tokenizer.is_byte_level
    assert tokenizer.label(backend.token_to_id("Ġcat")) == "␣cat"


@pytest.mark.parametrize("step", ["pre_tokenizer", "decoder"])
def test_blanks_written_as_sentencepiece_does_are_known_by_either_step(step):
    backend = tokenizers.Tokenizer(models.BPE({"▁a": 0}, []))
    kinds = {"pre_tokenizer": pre_tokenizers.Metaspace(), "decoder": decoders.Metaspace()}
    setattr(backend, step, kinds[step])
    assert Tokenizer(backend).label(0) == "␣a"
