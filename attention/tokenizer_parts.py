"""What the steps of a Rust tokenizer say of themselves, and the settings a picture can't have."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import tokenizers

from attention.labels import byte_alphabet


def written(part: object | None) -> str:
    """A step (normalizer, pre-tokenizer, post-processor, decoder) as its JSON; "" for none."""
    if part is None:
        return ""
    state: bytes = part.__getstate__()  # type: ignore[assignment]  # the library's own pickling
    return state.decode()


def read_whole_and_exactly(backend: tokenizers.Tokenizer) -> None:
    """Switch off what would show another text than the person's, or another each time.

    A file may ask for truncation (a text cut short in silence), for padding (rows that are not
    in the text), for merges left out by chance (dropout), and for spans without their blanks.
    """
    backend.no_truncation()
    backend.no_padding()
    if getattr(backend.model, "dropout", None) is not None:
        backend.model.dropout = None
    part = backend.post_processor
    if part is not None:
        trimmed = written(part)
        part.__setstate__(trimmed.replace('"trim_offsets":true', '"trim_offsets":false').encode())
        backend.post_processor = part


def may_leave_out(backend: tokenizers.Tokenizer, *, byte_level: bool) -> bool:
    """Whether a BPE passes over a character in silence: it has no token for it and none for that.

    Args:
        backend: the loaded library object.
        byte_level: whether its tokens are bytes; there may be one for each.
    """
    model = backend.model
    if not isinstance(model, tokenizers.models.BPE):
        return False  # the others say so, or have a token for what is unknown
    if model.unk_token is not None or model.byte_fallback:
        return False
    return not byte_level or any(backend.token_to_id(char) is None for char in byte_alphabet())


def put_before(backend: tokenizers.Tokenizer) -> tuple[int, ...]:
    """The ids that the post-processor puts before a text, such as BOS."""
    text = written(backend.post_processor)
    return tuple(_before(json.loads(text))) if text else ()


def _before(part: Mapping[str, Any]) -> Iterator[int]:
    kind = part["type"]
    if kind == "Sequence":
        for inner in reversed(part["processors"]):  # a later one puts its own outside
            yield from _before(inner)
    elif kind in ("BertProcessing", "RobertaProcessing"):
        yield part["cls"][1]
    elif kind == "TemplateProcessing":
        for piece in part["single"]:
            if "Sequence" in piece:
                return
            yield from part["special_tokens"][piece["SpecialToken"]["id"]]["ids"]
