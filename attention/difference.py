"""How far two implementations differ on one text, however long it is."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attention.blocks import LayerObservation
from attention.implementations import find_implementation
from attention.memory import memory_errors_as_sentences, require_free
from attention.model import LanguageModel
from attention.tokens import Tokens

BLOCK = 1 << 22  # weights, or logits, that are compared at a time


@dataclass(frozen=True)
class Difference:
    """How far two implementations differ on one text.

    Attributes:
        output: largest absolute difference of the logits.
        pattern: largest absolute difference of any weight of any head's pattern.
        recomputed: those of the two that keep no pattern, so that theirs was computed again
            from their own q and k.
    """

    output: float
    pattern: float
    recomputed: tuple[str, ...] = ()


@torch.inference_mode()
def compare(
    model: LanguageModel, tokens: Tokens, a: str, b: str, *, num_heads: int | None = None
) -> Difference:
    """The largest differences between a model's outputs and patterns computed in two ways.

    The patterns are those that the implementations themselves return: of one layer at a time, for
    the two run layer by layer in step, each on its own stream. Those of one that returns none are
    recomputed, some rows at a time.

    Args:
        model: what to run.
        tokens: the text to run.
        a: a key of IMPLEMENTATIONS.
        b: another.
        num_heads: run only the first so many heads of each layer; None for all.

    Raises:
        ConfigError: when an implementation or that number of heads does not exist.
        TextError: when the model cannot run the tokens.
        DeviceError: when the device has no memory left, or too little for the patterns of one
            layer that an implementation returns.
    """
    ids = torch.tensor([model.tokens(tokens).ids], device=model.device)
    names = (a, b)
    layers = [model.attention_layers(name, num_heads=num_heads) for name in names]
    _require_room(model, names, num_heads or model.config.num_heads, ids.shape[1])
    recomputed: set[str] = set()
    pattern = 0.0
    with memory_errors_as_sentences(model.device):
        resids = [model.begin(ids) for _ in names]
        for index in range(model.config.num_layers):
            seen: list[LayerObservation] = []
            for side in range(len(names)):
                attn = layers[side][index]
                resids[side] = model.step(
                    index, resids[side], attn, watch=seen.append, need_pattern=True
                )
            recomputed |= {
                name for name, one in zip(names, seen, strict=True) if one.pattern is None
            }
            pattern = _larger(pattern, _of_patterns(*seen))
        output = _of_outputs(model, *resids)
    ordered = tuple(name for name in dict.fromkeys(names) if name in recomputed)
    return Difference(output, pattern, ordered)


def _require_room(
    model: LanguageModel, names: tuple[str, ...], num_heads: int, seq_len: int
) -> None:
    """Refuse a text whose patterns, and the scores that they are made of, would not fit."""
    keep = [name for name in dict.fromkeys(names) if find_implementation(name).has_pattern]
    held = sum(find_implementation(name).has_pattern for name in names)
    if keep:
        require_free(
            (held + 1) * num_heads * seq_len**2 * model.dtype.itemsize,
            str(model.device),
            f"to compare {' and '.join(names)} on {seq_len:,} tokens",
            f"All heads' patterns of a layer are held at once by {' and '.join(keep)}: compare "
            "fewer heads or a shorter text, or two ways that keep no pattern, such as sdpa and "
            "looped_sdpa.",
        )


def _of_patterns(a: LayerObservation, b: LayerObservation) -> float:
    """The largest difference of any weight, found in blocks of rows."""
    seq_len, num_heads = a.qkv.q.shape[2], a.qkv.q.shape[1]
    at_once = max(1, BLOCK // (num_heads * seq_len))
    largest = 0.0
    for start in range(0, seq_len, at_once):
        rows = range(start, min(start + at_once, seq_len))
        largest = _larger(largest, largest_difference(_rows(a, rows), _rows(b, rows)))
    return largest


def _rows(seen: LayerObservation, rows: range) -> Tensor:
    """All heads' rows that a layer returned, or those that its q and k make."""
    if seen.pattern is not None:
        return seen.pattern[0, :, rows.start : rows.stop]
    return seen.record().pattern(None, rows)


def _of_outputs(model: LanguageModel, a: Tensor, b: Tensor) -> float:
    """The largest difference of any logit, found in blocks of positions."""
    at_once = max(1, BLOCK // model.config.vocab_size)
    largest = 0.0
    for first, second in zip(a.split(at_once, dim=1), b.split(at_once, dim=1), strict=True):
        found = largest_difference(model.read_out(first), model.read_out(second))
        largest = _larger(largest, found)
    return largest


def _larger(a: float, b: float) -> float:
    """The larger one; NaN where either is."""
    return b if b > a or b != b else a


def largest_difference(a: Float[Tensor, "*shape"], b: Float[Tensor, "*shape"]) -> float:
    """The largest absolute difference of two tensors; NaN where either holds one."""
    wide = torch.promote_types(a.dtype, b.dtype)
    return float((a.to(wide) - b.to(wide)).abs().max())
