"""Walks through the patterns of a layer in blocks of rows, so that memory stays bounded."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention.pooling import BLOCK_CELLS, blocks
from attention.record import RunRecord


@dataclass(frozen=True)
class RowBlock:
    """Some rows of the patterns of one layer's heads; all a metric gets to see at a time.

    Attributes:
        pattern: the rows, up to the key at the last of them; each sums to 1, later keys are 0.
        queries: which positions the rows are of.
        ids: the token ids up to there.
    """

    pattern: Float[Tensor, "head query key"]
    queries: Int[Tensor, " query"]
    ids: Int[Tensor, " key"]


def row_blocks(record: RunRecord, layer: int, *, step: int = 1) -> Iterator[RowBlock]:
    """All rows of all heads of a layer, a few million weights at a time, in order.

    Args:
        record: the run.
        layer: which layer, from 0.
        step: a block is some whole steps of rows, or lies within one.
    """
    layer_record = record.layers[layer]
    device = layer_record.q.device
    ids = torch.tensor(record.tokens.ids, device=device)
    for asked in blocks(record.seq_len, step, BLOCK_CELLS // record.num_heads):
        queries = torch.arange(asked.start, asked.stop, device=device)
        yield RowBlock(layer_record.seen(None, asked), queries, ids[: asked.stop])


def positions(ids: Int[Tensor, " key"]) -> Int[Tensor, " key"]:
    """0, 1, 2 … for every token."""
    return torch.arange(len(ids), device=ids.device)
