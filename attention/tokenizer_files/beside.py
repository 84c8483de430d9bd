"""What the small JSON files beside a vocabulary say: classes, special tokens, BOS."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import AddedToken

from attention.errors import ModelError

NAMED = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
LISTED = ("additional_special_tokens", "extra_special_tokens")


@dataclass(frozen=True)
class Beside:
    """What is said beside a vocabulary; None where nothing is.

    Attributes:
        tokenizer_class: of `transformers`, without "Fast".
        model_type: of config.json.
        tokens: added tokens with their ids; None for the id of one that is only named.
        named: bos_token, eos_token and so on, as they are written.
        add_bos: whether BOS is put before each text.
        add_eos: whether EOS is put after it.
        prefix_space: whether a blank is put before a text.
        legacy: whether a blank also goes before the text after a special token.
    """

    tokenizer_class: str | None
    model_type: str | None
    tokens: tuple[tuple[int | None, AddedToken], ...]
    named: Mapping[str, str]
    add_bos: bool | None
    add_eos: bool | None
    prefix_space: bool | None
    legacy: bool | None


def read_beside(folder: Path) -> Beside:
    """Read config.json, tokenizer_config.json, special_tokens_map.json and added_tokens.json.

    Raises:
        ModelError: when one of them is there and is no JSON object, or holds something else
            than a token where one must be.
    """
    path = folder / "tokenizer_config.json"
    config = json_object(path)
    special = {**json_object(folder / "special_tokens_map.json"), **_only_tokens(config)}
    try:
        named = {name: _content(special[name]) for name in NAMED if special.get(name)}
        tokens = tuple(_tokens(config, special, json_object(folder / "added_tokens.json")))
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise ModelError(
            f"tokens named in {folder} must be texts; got another: {error}."
        ) from error
    kind = config.get("tokenizer_class")
    model_type = json_object(folder / "config.json").get("model_type")
    return Beside(
        tokenizer_class=kind.removesuffix("Fast") if isinstance(kind, str) else None,
        model_type=model_type if isinstance(model_type, str) else None,
        tokens=tokens,
        named=named,
        add_bos=_switch(config, "add_bos_token", path),
        add_eos=_switch(config, "add_eos_token", path),
        prefix_space=_switch(config, "add_prefix_space", path),
        legacy=_switch(config, "legacy", path),
    )


def json_object(path: Path) -> dict[str, Any]:
    """A JSON object; empty where there is no such file.

    Raises:
        ModelError: when it cannot be read or is something else.
    """
    if not path.is_file():
        return {}
    try:
        parsed = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError, OSError) as error:
        raise ModelError(f"{path} must be JSON; it cannot be read: {error}.") from error
    if not isinstance(parsed, dict):
        raise ModelError(f"{path} must hold a JSON object; it holds {type(parsed).__name__}.")
    return parsed


def _only_tokens(config: Mapping[str, Any]) -> dict[str, Any]:
    return {name: config[name] for name in (*NAMED, *LISTED) if config.get(name)}


def _switch(config: Mapping[str, Any], name: str, path: Path) -> bool | None:
    value = config.get(name)
    if value is not None and not isinstance(value, bool):
        raise ModelError(f"{name} in {path} must be true or false; got {value!r}.")
    return value


def _content(token: str | Mapping[str, Any]) -> str:
    content = token if isinstance(token, str) else token["content"]
    if not isinstance(content, str):
        raise TypeError(repr(content))
    return content


def _added(token: str | Mapping[str, Any], *, special: bool, normalized: bool) -> AddedToken:
    flags = {} if isinstance(token, str) else token
    return AddedToken(
        _content(token),
        lstrip=flags.get("lstrip", False),
        rstrip=flags.get("rstrip", False),
        single_word=flags.get("single_word", False),
        normalized=flags.get("normalized", normalized),
        special=flags.get("special", special),
    )


def _tokens(
    config: Mapping[str, Any], special: Mapping[str, Any], added: Mapping[str, int]
) -> Iterator[tuple[int | None, AddedToken]]:
    """Added tokens by id, then the special ones that are only named."""
    given = config.get("added_tokens_decoder")
    named = [special[name] for name in NAMED if special.get(name)]
    for name in LISTED:
        more = special.get(name) or ()
        named += list(more.values()) if isinstance(more, Mapping) else list(more)
    specials = {_content(token) for token in named}
    if given is not None:
        for token_id, token in sorted(given.items(), key=lambda item: int(item[0])):
            yield int(token_id), _added(token, special=False, normalized=True)
    else:  # the older form
        for content, token_id in sorted(added.items(), key=lambda item: item[1]):
            is_special = content in specials
            yield token_id, _added(content, special=is_special, normalized=not is_special)
    for token in named:
        yield None, _added(token, special=True, normalized=False)
