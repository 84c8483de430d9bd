"""The tokenizer that lies in a folder, whatever its files are."""

from dataclasses import replace
from pathlib import Path

from tokenizers import AddedToken

from attention.errors import ModelError
from attention.tokenizer_files.added import Ends, add_tokens, with_ends
from attention.tokenizer_files.beside import Beside, json_object, read_beside
from attention.tokenizer_files.byte_level import byte_level, merge_pairs
from attention.tokenizer_files.characters import read_characters
from attention.tokenizer_files.pieces import BPE, Kind, Proto, convert_pieces, parse_pieces
from attention.tokenizer_files.splits import (
    GPT2_WORDS,
    NEOX_WORDS,
    QWEN2_WORDS,
    WordSplit,
)
from attention.tokens import Tokenizer

END_OF_TEXT = "<|endoftext|>"  # GPT-2's and Qwen's, where no file says otherwise
WORDS_OF_CLASS = {
    "GPT2Tokenizer": GPT2_WORDS,
    "CodeGenTokenizer": GPT2_WORDS,
    "GPTNeoXTokenizer": NEOX_WORDS,
    "Qwen2Tokenizer": QWEN2_WORDS,
}
WORDS_OF_MODEL = {
    **dict.fromkeys(("gpt2", "gpt_neo", "gptj", "codegen", "opt", "phi"), GPT2_WORDS),
    "gpt_neox": NEOX_WORDS,
    **dict.fromkeys(("qwen2", "qwen2_moe", "qwen3", "qwen3_moe"), QWEN2_WORDS),
}
UNREADABLE = {  # by the files' names
    "tekken.json": "Mistral's tekken ranks",
    "*.tiktoken": "tiktoken's ranks",
    "tiktoken.model": "tiktoken's ranks",
    "vocab.txt": "WordPiece",
    "vocab.json": "a vocabulary without its merges.txt",
    "merges.txt": "merges without their vocab.json",
}


def find_tokenizer(folder: Path) -> Tokenizer | None:
    """Read the tokenizer beside a model's weights.

    The first of these that is there: tokenizer.json; vocab.json and merges.txt (or encoder.json
    and vocab.bpe, as OpenAI named them); SentencePiece's tokenizer.model or spiece.model;
    nanoGPT's meta.pkl.

    Returns:
        the tokenizer; None when there is none: the model takes token ids.

    Raises:
        ModelError: when there is one that cannot be read, or not surely right.
    """
    if (path := folder / "tokenizer.json").is_file():
        return _library(path, read_beside(folder))
    for vocab, merges in (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe")):
        if (folder / vocab).is_file() and (folder / merges).is_file():
            return _byte_level(folder / vocab, folder / merges, read_beside(folder))
    for name in ("tokenizer.model", "spiece.model"):
        if (path := folder / name).is_file():
            return _pieces(path, read_beside(folder))
    if (path := folder / "meta.pkl").is_file():
        return read_characters(path)
    for pattern, kind in UNREADABLE.items():
        for path in sorted(folder.glob(pattern)):
            raise ModelError(
                f"{path} must come with the model's tokenizer.json; alone it is {kind}, which "
                "cannot be read. Put the tokenizer.json beside it, or remove it and give token ids."
            )
    return None


def _library(path: Path, beside: Beside) -> Tokenizer:
    """The file itself decides on BOS; what lies beside it does where the file has no say."""
    backend = Tokenizer.from_file(path).backend
    add_tokens(backend, beside.tokens, path.parent)
    if backend.post_processor is not None:
        beside = replace(beside, add_bos=False, add_eos=False)
    return with_ends(backend, _ends(beside, path, adds_bos=bool(beside.add_bos)))


def _ends(beside: Beside, path: Path, *, adds_bos: bool, bos: str | None = None) -> Ends:
    return Ends(
        bos=beside.named.get("bos_token", bos),
        adds_bos=adds_bos,
        eos=beside.named.get("eos_token"),
        adds_eos=bool(beside.add_eos),
        where=path,
    )


def _byte_level(vocab_path: Path, merges_path: Path, beside: Beside) -> Tokenizer:
    vocab = json_object(vocab_path)
    if any(not isinstance(i, int) for i in vocab.values()) or len(set(vocab.values())) < len(vocab):
        raise ModelError(f"{vocab_path} must give each token an id of its own; it does not.")
    try:
        lines = merges_path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{merges_path} must be UTF-8; it cannot be read: {error}.") from error
    lines = [line for line in lines if line.strip() and not line.startswith("#version")]
    words = _words(beside, vocab_path)
    backend = byte_level(
        vocab,
        merge_pairs(lines, merges_path),
        words,
        prefix_space=bool(beside.prefix_space),
        where=vocab_path,
    )
    end = AddedToken(END_OF_TEXT, special=True, normalized=False)
    add_tokens(backend, (*beside.tokens, (None, end)), vocab_path.parent)
    # GPT-2's end of a text is also its beginning; Qwen has no beginning.
    bos = None if words is QWEN2_WORDS else END_OF_TEXT
    return with_ends(backend, _ends(beside, vocab_path, adds_bos=bool(beside.add_bos), bos=bos))


def _words(beside: Beside, path: Path) -> WordSplit:
    """How the words are cut: the files don't say, the model or the class does."""
    model, kind = beside.model_type, beside.tokenizer_class
    found = {
        repr(name): table.get(name)
        for name, table in ((model, WORDS_OF_MODEL), (kind, WORDS_OF_CLASS))
        if name is not None
    }
    choices = set(found.values()) or {GPT2_WORDS}
    if len(choices) > 1 or None in choices:
        raise ModelError(
            f"{path} must be of a model that is known to cut words as GPT-2, GPT-NeoX or Qwen2 "
            f"does; got {' with '.join(found)}. Put the model's tokenizer.json beside it."
        )
    (words,) = choices
    assert words is not None
    return words


def _pieces(path: Path, beside: Beside) -> Tokenizer:
    proto = parse_pieces(path)
    _rename(proto, beside)
    if beside.prefix_space is not None:
        proto.normalizer_spec.add_dummy_prefix = beside.prefix_space
    backend, check = convert_pieces(proto, after_special=_blank_after_special(beside), where=path)
    own = {piece.piece for piece in proto.pieces if piece.type == Kind.USER_DEFINED}
    tokens = [(i, _raw(t)) for i, t in beside.tokens if t.special or t.content not in own]
    add_tokens(backend, tokens, path.parent)
    spec = proto.trainer_spec
    bos = spec.bos_piece if spec.bos_id >= 0 else None
    expected = spec.model_type == BPE and bos is not None  # Llama, Mistral and Gemma expect it
    adds_bos = expected if beside.add_bos is None else beside.add_bos
    return with_ends(backend, _ends(beside, path, adds_bos=adds_bos, bos=bos), check)


def _blank_after_special(beside: Beside) -> bool:
    """As `transformers` has it where no file says: only its Llama class leaves the blank out."""
    if beside.legacy is not None:
        return beside.legacy
    is_mistral = (beside.model_type or "").startswith(("mistral", "ministral", "mixtral"))
    return is_mistral or beside.tokenizer_class != "LlamaTokenizer"


def _raw(token: AddedToken) -> AddedToken:
    """Matched in the text as it is written: the blank before a text is no part of a token."""
    return AddedToken(
        token.content,
        lstrip=token.lstrip,
        rstrip=token.rstrip,
        single_word=token.single_word,
        normalized=False,
        special=token.special,
    )


def _rename(proto: Proto, beside: Beside) -> None:
    """Give placeholder pieces the names that the files beside give them."""
    there = {piece.piece for piece in proto.pieces}
    for i, token in beside.tokens:
        if i is not None and i < len(proto.pieces) and token.content not in there:
            proto.pieces[i].piece = token.content
            proto.pieces[i].type = Kind.CONTROL if token.special else Kind.USER_DEFINED
