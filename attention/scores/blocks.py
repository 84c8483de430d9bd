"""Walks through the patterns of a layer in blocks of rows, so that memory stays bounded."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention.capture import POOL
from attention.layer_record import LayerRecord
from attention.pooling import blocks
from attention.record import RunRecord

BLOCK_CELLS = 1 << 20  # weights held at a time: 4 MB in float32, which the caches have room for
TOGETHER_CELLS = 1 << 20  # weights of layers that make one block: each alone is soon done


@dataclass(frozen=True)
class RowBlock:
    """Some rows of the patterns of one layer's heads; all a metric gets to see at a time.

    Attributes:
        pattern: the rows, up to the key at the last of them; each sums to 1, later keys are 0.
        queries: which positions the rows are of: those of the last ids.
        ids: the token ids up to there.
    """

    pattern: Float[Tensor, "head query key"]
    queries: Int[Tensor, " query"]
    ids: Int[Tensor, " key"]


def row_blocks(record: RunRecord, layer: int) -> Iterator[RowBlock]:
    """All rows of all heads of a layer, about a million weights at a time, in order."""
    return blocks_of(record.layers[layer], record.tokens.ids)


def blocks_of(layer: LayerRecord, ids: Sequence[int], *, step: int = 1) -> Iterator[RowBlock]:
    """As `row_blocks`, of a layer or of several as one.

    Args:
        layer: whose rows.
        ids: the text.
        step: a block is some whole steps of rows, or lies within one.
    """
    num_heads, seq_len, _ = layer.q.shape
    device = layer.q.device
    keys, queries = torch.tensor(ids, device=device), torch.arange(seq_len, device=device)
    for rows in blocks(seq_len, step, BLOCK_CELLS // num_heads):
        yield RowBlock(layer.seen(None, rows), queries[rows.start : rows.stop], keys[: rows.stop])


def together(
    record: RunRecord, layers: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], LayerRecord]]:
    """The layers in order, as many as one as make a block: a short text is a few operators then.

    Args:
        record: the run.
        layers: which layers.

    Yields:
        some layers that follow each other there, and a layer that has the heads of all.
    """
    most = max(1, TOGETHER_CELLS // (record.num_heads * record.seq_len**2))
    group: list[int] = []
    for layer in layers:
        if group and (len(group) == most or not _alike(record, group[0], layer)):
            yield tuple(group), _stacked(record, group)
            group = []
        group.append(layer)
    if group:
        yield tuple(group), _stacked(record, group)


def _alike(record: RunRecord, one: int, other: int) -> bool:
    a, b = record.layers[one], record.layers[other]
    same = a.rule == b.rule and a.q.dtype == b.q.dtype and a.q.device == b.q.device
    return same and a.q.shape == b.q.shape and a.k.shape == b.k.shape


def _stacked(record: RunRecord, layers: Sequence[int]) -> LayerRecord:
    first = record.layers[layers[0]]
    if len(layers) == 1:
        return first
    q, k = (_joined([getattr(record.layers[layer], part) for layer in layers]) for part in "qk")
    return LayerRecord(q, k, k, first.rule)


def _joined(parts: Sequence[Tensor]) -> Tensor:
    """One after the other; on a CPU in memory that was used before: new pages cost more."""
    first = parts[0]
    if first.device.type != "cpu" or first.requires_grad:
        return torch.cat(list(parts))
    shape = (len(parts) * first.shape[0], *first.shape[1:])
    return torch.cat(list(parts), out=POOL.take(shape, first.dtype))


def positions(ids: Int[Tensor, " key"]) -> Int[Tensor, " key"]:
    """0, 1, 2 … for every token."""
    return torch.arange(len(ids), device=ids.device)
