import pytest
import tokenizers
from tokenizers import models, processors

from attention.errors import TextError
from attention.tokens import Tokenizer, read
from tests.builders import byte_level_backend, tokenizer_file

TOKENIZER = Tokenizer(byte_level_backend())
BOS = TOKENIZER.backend.token_to_id("<bos>")


def spans_of(tokens):
    return [tokens.text[start:end] for start, end in tokens.offsets]


def test_bos_written_at_the_start_is_the_only_one_and_has_a_span():
    # There were two, and the first of them once got the span.
    tokens = TOKENIZER.encode("<bos>a")
    assert tokens.ids == (BOS, TOKENIZER.encode("a").ids[1])
    assert tokens.offsets == ((0, 5), (5, 6))


def test_bos_written_twice_stays_twice():
    assert TOKENIZER.encode("<bos><bos>").ids == (BOS, BOS)


def test_bos_written_later_does_not_stand_for_the_one_put_first():
    tokens = TOKENIZER.encode("a<bos>")
    assert (tokens.ids[0], tokens.ids[2]) == (BOS, BOS)
    assert tokens.offsets == ((0, 0), (0, 1), (1, 6))


def test_bos_can_be_left_out():
    tokens = TOKENIZER.encode("the cat", bos=False)
    assert tokens.labels == ("the", "␣cat")
    assert tokens.offsets == ((0, 3), (3, 7))
    assert TOKENIZER.encode("<bos>a", bos=False).labels == ("<bos>", "a")
    assert read("the", TOKENIZER, "small", bos=False).labels == ("the",)


def test_bos_can_be_put_first_where_the_tokenizer_puts_none():
    tokenizer = Tokenizer(byte_level_backend(bos=False), bos_id=BOS)
    assert not tokenizer.adds_bos
    assert tokenizer.encode("the").labels == ("the",)
    with_bos = tokenizer.encode("the", bos=True)
    assert (with_bos.ids[0], with_bos.labels) == (BOS, ("<bos>", "the"))
    assert with_bos.offsets == ((0, 0), (0, 3))
    assert tokenizer.encode("<bos>the", bos=True).labels == ("<bos>", "the")


def test_bos_that_the_model_does_not_have_is_refused():
    tokenizer = Tokenizer(byte_level_backend(bos=False))
    assert tokenizer.bos_id is None
    with pytest.raises(TextError, match="bos must be off: the model's tokenizer has no BOS"):
        tokenizer.encode("the", bos=True)


@pytest.mark.parametrize(
    "processor",
    [
        processors.BertProcessing(("a", 66), ("<bos>", 0)),
        processors.RobertaProcessing(("a", 66), ("<bos>", 0)),
        processors.TemplateProcessing(
            single=["<bos>", "$A", "a"], special_tokens=[("<bos>", 0), ("a", 66)]
        ),
        processors.Sequence(
            [
                processors.ByteLevel(trim_offsets=True),
                processors.TemplateProcessing(
                    single=["<bos>", "$A", "a"], special_tokens=[("<bos>", 0), ("a", 66)]
                ),
            ]
        ),
    ],
)
def test_what_a_tokenizer_puts_after_the_text_stays_with_and_without_bos(processor):
    backend = byte_level_backend(bos=False)
    backend.post_processor = processor
    tokenizer = Tokenizer(backend)
    assert (tokenizer.adds_bos, tokenizer.bos_id) == (True, BOS)
    cat = tokenizer.encode(" cat").ids
    assert cat == (BOS, cat[1], 66)
    assert tokenizer.encode(" cat").offsets == ((0, 0), (0, 4), (0, 0))
    assert tokenizer.encode(" cat", bos=False).ids == cat[1:]


def test_tokenizer_that_asks_for_truncation_and_padding_reads_the_whole_text(tmp_path):
    # Such a file once cut the text short in silence, and would add rows that are not in it.
    backend = byte_level_backend()
    backend.enable_truncation(3)
    backend.enable_padding(length=50)
    tokens = Tokenizer.from_file(tokenizer_file(tmp_path, backend)).encode("the cat sat on")
    assert spans_of(tokens) == ["", "the", " cat", " sat", " on"]


def test_tokenizer_that_asks_for_merges_by_chance_reads_alike_each_time():
    backend = byte_level_backend()
    backend.model.dropout = 1.0
    assert Tokenizer(backend).encode("the cat").labels == ("<bos>", "the", "␣cat")


def test_text_that_the_tokenizer_would_leave_out_is_refused():
    # The library drops what it has no token for: the rows were those of another text.
    tokenizer = Tokenizer(tokenizers.Tokenizer(models.BPE({"a": 0, "b": 1}, [])))
    assert tokenizer.encode("ab").ids == (0, 1)
    with pytest.raises(TextError, match=r"no token for 'é' \(U\+00E9\), and would leave it out"):
        tokenizer.encode("aéb")


def test_offsets_hold_blanks_that_a_tokenizer_trims():
    # Post-processing with trim_offsets=True, as GPT-2's file has it, leaves the blank out.
    backend = byte_level_backend(bos=False)
    backend.post_processor = processors.ByteLevel(trim_offsets=True)
    assert spans_of(Tokenizer(backend).encode("the cat")) == ["the", " cat"]
