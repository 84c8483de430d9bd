"""One pass gives what the separate ones do, and both are the true ones."""

import numpy as np
import pytest
import torch

from attention.layer_record import LayerRecord, PatternRule
from attention.layer_scan import scan_layer
from attention.record import RunRecord
from attention.scores import HEAD_METRICS, head_scores
from attention.tokens import Tokens
from components.looks import Look, thumbnails
from tests.builders import assert_arrays_close


def record_at(seq_len, *, window=None, soft_cap=None, dtype=torch.float32):
    """Two layers of four heads that share two kv heads, on a text that repeats itself."""
    generator = torch.Generator().manual_seed(seq_len)
    ids = torch.randint(0, 1 + seq_len // 3, (seq_len,), generator=generator).tolist()
    layers = []
    for _ in range(2):
        q = 2 * torch.randn(4, seq_len, 6, generator=generator)
        k = 2 * torch.randn(2, seq_len, 6, generator=generator)
        rule = PatternRule(6**-0.5, soft_cap, window)
        layers.append(LayerRecord(q.to(dtype), k.to(dtype), k.to(dtype), rule))
    return RunRecord(Tokens.from_ids(ids), torch.zeros(seq_len, 2), tuple(layers), "sdpa")


LENGTHS = [1, 2, 3, 13, 65, 127, 251]


@pytest.mark.parametrize("window", [None, 19])
@pytest.mark.parametrize("hide_first", [False, True])
@pytest.mark.parametrize("size", [7, 64])
@pytest.mark.parametrize("seq_len", LENGTHS)
def test_thumbnails_are_those_that_are_drawn(seq_len, size, hide_first, window):
    record = record_at(seq_len, window=window)
    found = scan_layer(record, 1, size=size, hide_first=hide_first).thumbnails
    assert found.dtype == np.float32
    drawn = thumbnails(record, 1, size, Look(hide_first=hide_first))
    if not hide_first:
        assert_arrays_close(found, record.pooled_layer(1, size), rtol=1e-6)
        found = np.where(np.isnan(drawn), np.nan, found)
    assert_arrays_close(found, drawn, rtol=1e-5)


@pytest.mark.parametrize("seq_len", LENGTHS)
def test_scores_are_those_of_the_record(seq_len):
    record = record_at(seq_len)
    found, expected = scan_layer(record, 1, size=7).scores, head_scores(record)
    assert list(found) == list(HEAD_METRICS)
    for name, scores in found.items():
        assert_arrays_close(scores, expected[name][1], rtol=1e-6)
