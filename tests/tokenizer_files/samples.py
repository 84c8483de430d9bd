"""Texts that broke other programs, and small tokenizers of every kind to read them with."""

import io
import json
from functools import cache

import sentencepiece
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoTokenizer

from attention.tokenizer_files import find_tokenizer

LINES = (
    "the cat sat on the mat, and the dog ran to the cat in the rain.\n\n"
    "  if x == 12:\n\treturn f(a, b)  # 345 Größe naïve café 你好 世界 שלום <i>\n" * 8
).split("\n")

AWKWARD = [
    "the cat sat",
    " the  cat ",
    "Seán 😀 你好",
    "a\n\n\tb\r\n",
    "שלום e\u0301 é",
    "👩\u200d👩\u200d👧 🇩🇪\u200d",
    "if x == 12345:\n\treturn f(a)  # it's We'LL",
    "</script><b>x</b>",
    "\u00a0\u3000\u2028 x",
    "½ ① 三 ٣",
    "<0x41> Ġ ▁ ▁▁",
    " ",
    "\n\n\n",
]
CHAT = ["<|im_start|>user\nhi<|endoftext|>", "<|im_start|>", "a <|im_start|> b"]
PIECES = [
    *("the", " cat", "a", "1", "23", " ", "  ", "\n", "\t", "\r\n", "\u00a0", "\u3000", ".", "'s"),
    *("é", "e\u0301", "ß", "😀", "👩\u200d👩\u200d👧", "你", "好", "שלום", "\u0301", "\u200d"),
    *("</script>", "<", "x==", "ﬁ", "\x00"),
]
TEXTS = st.lists(st.sampled_from(PIECES), min_size=1, max_size=9).map("".join) | st.text(
    min_size=1, max_size=12
)


def spans_of(tokens):
    return [tokens.text[start:end] for start, end in tokens.offsets]


def covered(tokens):
    """The characters that some token stands for."""
    return {i for start, end in tokens.offsets for i in range(start, end)}


def same_as_transformers(folder, texts=(*AWKWARD, *CHAT)):
    """Hold our reading of a folder to that of `transformers`; ours is given back."""
    ours, reference = find_tokenizer(folder), AutoTokenizer.from_pretrained(folder)
    for text in texts:
        theirs = reference(text)["input_ids"]
        if theirs[:2] == [ours.bos_id] * 2:
            theirs = theirs[1:]  # ours adds none where one is written
        assert list(ours.encode(text).ids) == theirs, text
        if "<a>" not in text:  # which it does not know as special, though the file says so
            assert ours.decode(theirs) == reference.decode(theirs, skip_special_tokens=True)
    return ours


def write_json(path, content):
    path.write_text(json.dumps(content), encoding="utf-8")


@cache
def byte_level_bpe(vocab_size=330):
    """Trained merges; `<|endoftext|>` and `<|im_start|>` are in the vocabulary."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=["<|endoftext|>", "<|im_start|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(LINES, trainer)
    return backend


def vocab_and_merges(folder, *, config=None, settings=None):
    """A folder with vocab.json and merges.txt, and what is said beside them."""
    byte_level_bpe().model.save(str(folder))
    if config is not None:
        write_json(folder / "config.json", config)
    if settings is not None:
        write_json(folder / "tokenizer_config.json", settings)
    return folder


@cache
def _trained(options):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES),
        model_writer=model,
        vocab_size=400,
        hard_vocab_limit=False,
        minloglevel=2,
        **{name: list(value) if isinstance(value, tuple) else value for name, value in options},
    )
    return model.getvalue()


PLAIN = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
LLAMA = {"model_type": "bpe", "byte_fallback": True, **PLAIN}
GEMMA = {**LLAMA, "add_dummy_prefix": False, "user_defined_symbols": ("<turn>", "\n\n", "▁▁")}
UNIGRAM = {"model_type": "unigram", **PLAIN}
NFKC = {"model_type": "unigram", "normalization_rule_name": "nmt_nfkc"}


def pieces(**options):
    """A trained SentencePiece model, as the bytes of its file."""
    return _trained(tuple(sorted(options.items())))


def pieces_folder(folder, *, config=None, settings=None, **options):
    """A folder with a tokenizer.model, and what is said beside it."""
    (folder / "tokenizer.model").write_bytes(pieces(**options))
    if config is not None:
        write_json(folder / "config.json", config)
    if settings is not None:
        write_json(folder / "tokenizer_config.json", settings)
    return folder
