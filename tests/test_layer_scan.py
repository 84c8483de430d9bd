"""One pass gives what the separate ones do, and both are the true ones, whoever computes."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from attention.capture import capture_core, use_native
from attention.errors import ConfigError
from attention.layer_record import LayerRecord, PatternRule
from attention.layer_scan import scan_layer, scan_layers
from attention.record import RunRecord
from attention.scores import HEAD_METRICS, Metric, head_scores, share_on
from attention.scores.metric import ShareOn, Tally
from attention.tokens import Tokens
from tests.builders import assert_arrays_close, record_of

LENGTHS = [1, 2, 3, 13, 64, 127, 251, 256]


@pytest.fixture(scope="module", params=["C", "torch"], autouse=True)
def core(request):
    """Both ways to compute, the compiled one as small texts take it: known before."""
    use_native(request.param == "C")
    if request.param == "C" and capture_core().native is None:
        use_native(None)
        pytest.skip(str(capture_core()))
    yield request.param
    use_native(None)


def record_at(seq_len, *, window=None, soft_cap=None, dtype=torch.float32, layers=2, same=True):
    """Layers of four heads that share two kv heads, on a text that repeats itself."""
    generator = torch.Generator().manual_seed(seq_len)
    ids = torch.randint(0, 1 + seq_len // 3, (seq_len,), generator=generator).tolist()
    made = []
    for index in range(layers):
        q = 2 * torch.randn(4, seq_len, 6, generator=generator)
        k = 2 * torch.randn(2, seq_len, 6, generator=generator)
        rule = PatternRule(6**-0.5, soft_cap, window if same or index % 2 else None)
        made.append(LayerRecord(q.to(dtype), k.to(dtype), k.to(dtype), rule))
    return RunRecord(Tokens.from_ids(ids), torch.zeros(seq_len, 2), tuple(made), "sdpa")


def exact(record, layer):
    """All patterns of a layer in float64, and which cells are seen."""
    kept = record.layers[layer]
    k = kept.k.double().repeat_interleave(2, dim=0).transpose(1, 2)
    scores = kept.q.double() @ k * kept.rule.scale
    if kept.rule.soft_cap is not None:
        scores = kept.rule.soft_cap * (scores / kept.rule.soft_cap).tanh()
    queries, keys = np.mgrid[: record.seq_len, : record.seq_len]
    seen = keys <= queries
    if kept.rule.window is not None:
        seen &= queries - keys < kept.rule.window
    return scores.masked_fill(torch.from_numpy(~seen), -torch.inf).softmax(dim=-1).numpy(), seen


def true_thumbnails(pattern, seen, size, *, hide_first):
    """By the definition; without the first token NaN where nothing is shown."""
    shown = np.where(seen, pattern, -1.0)
    if hide_first:
        shown[..., 0] = -1
        rest = np.where(shown > 0, shown, 0).sum(axis=-1, keepdims=True)
        shown = np.where((shown < 0) | (rest == 0), -1, shown / np.where(rest == 0, 1, rest))
    starts = np.arange(0, shown.shape[1], -(-shown.shape[1] // size))
    pooled = np.maximum.reduceat(np.maximum.reduceat(shown, starts, axis=1), starts, axis=2)
    return np.where(pooled < 0, np.nan if hide_first else 0, pooled)


def true_scores(pattern, ids):
    """By the definition, on the whole pattern."""
    ids, rows = torch.tensor(ids), np.arange(pattern.shape[1])
    found = {}
    for name, metric in HEAD_METRICS.items():
        if isinstance(metric.measure, ShareOn):
            cells = metric.measure.cells(torch.arange(len(ids)), ids).numpy()
            count = cells.any(axis=1).sum()
            total = (pattern * cells).sum(axis=(1, 2))
        else:
            logs = np.log(pattern, where=pattern > 0, out=np.zeros_like(pattern))
            each, count = -(pattern * logs).sum(axis=2)[:, 1:] / np.log(rows[1:] + 1), rows[-1]
            total = each.sum(axis=1)
        found[name] = total / count if count else np.full(len(pattern), np.nan)
    return found


def assert_scan_is_true(record, layer, size, *, hide_first=False, atol=2e-6):
    scan = scan_layer(record, layer, size=size, hide_first=hide_first)
    pattern, seen = exact(record, layer)
    expected = true_thumbnails(pattern, seen, size, hide_first=hide_first)
    assert scan.thumbnails.dtype == np.float32
    assert_arrays_close(scan.thumbnails, expected, rtol=1e-4, atol=atol)
    assert list(scan.scores) == list(HEAD_METRICS)
    for name, scores in true_scores(pattern, record.tokens.ids).items():
        assert_arrays_close(scan.scores[name], scores, rtol=1e-5, atol=atol)
    return scan


@pytest.mark.parametrize(
    "rule",
    [{}, {"window": 19}, {"soft_cap": 3.0}, {"window": 1000}],
    ids=["plain", "window", "soft cap", "wide window"],
)
@pytest.mark.parametrize("hide_first", [False, True])
@pytest.mark.parametrize("size", [7, 64])
@pytest.mark.parametrize("seq_len", LENGTHS)
def test_scan_is_the_true_one(seq_len, size, hide_first, rule):
    record = record_at(seq_len, **rule)
    scan = assert_scan_is_true(record, 1, size, hide_first=hide_first)
    if not hide_first:
        assert_arrays_close(scan.thumbnails, record.pooled_layer(1, size), rtol=1e-5)
    for name, table in head_scores(record).items():
        assert_arrays_close(scan.scores[name], table[1], rtol=1e-6)


@pytest.mark.parametrize("cells", [257, 4099])
@pytest.mark.parametrize("hide_first", [False, True])
@pytest.mark.parametrize("size", [3, 64])  # squares of 84 rows, and of 4
def test_blocks_change_nothing(monkeypatch, cells, hide_first, size):
    monkeypatch.setattr("attention.scores.blocks.BLOCK_CELLS", cells)
    monkeypatch.setattr("attention.scores.reading.CELLS_A_CALL", cells)
    assert_scan_is_true(record_at(251), 0, size, hide_first=hide_first)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_other_precisions_are_read_in_float32_at_least(dtype):
    assert_scan_is_true(record_at(65, dtype=dtype), 1, 7, hide_first=True)


@pytest.mark.parametrize("same", [True, False], ids=["alike", "every other one with a window"])
@pytest.mark.parametrize("seq_len", [13, 401])  # all as one; each by itself
def test_layers_are_each_as_by_itself(seq_len, same):
    record = record_at(seq_len, layers=5, window=7, same=same)
    asked = [4, 0, 1, 2]
    scans = list(scan_layers(record, asked, size=9, hide_first=True))
    for layer, scan in zip(asked, scans, strict=True):
        alone = scan_layer(record, layer, size=9, hide_first=True)
        assert_arrays_close(scan.thumbnails, alone.thumbnails)
        for name, scores in scan.scores.items():
            assert_arrays_close(scores, alone.scores[name])


def test_row_that_has_only_its_first_token_shows_nothing_without_it():
    pattern = [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [1, 0, 0, 0], [0.25, 0.25, 0.5, 0]]
    found = scan_layer(record_of(pattern), 0, size=64, hide_first=True).thumbnails
    gap = np.nan
    expected = [[gap] * 4, [gap, 1, gap, gap], [gap] * 4, [gap, 1 / 3, 2 / 3, 0]]
    assert_arrays_close(found[0], expected, atol=1e-6)


@pytest.mark.parametrize("hide_first", [False, True])
def test_nan_stays(hide_first):
    record = record_at(65)
    record.layers[0].q[2, 40] = torch.nan
    scan = scan_layer(record, 0, size=13, hide_first=hide_first)
    assert np.isnan(scan.thumbnails[2, 40 // 5, :8]).all()
    assert np.isnan(scan.scores["entropy"]).tolist() == [False, False, True, False]
    assert np.isfinite(scan.thumbnails[[0, 1, 3], 8, 1:8]).all()


def test_any_metric_can_be_asked_for_and_none():
    record, asked = record_at(127), []

    def second_previous(queries, ids):
        asked.append(len(queries))
        return torch.arange(len(ids)) == queries[:, None] - 2

    def rows(block):
        return Tally(block.pattern.sum(dim=(1, 2)), len(block.queries))

    def metric(name, measure):
        return Metric(name, name, "Of this test.", name, 0.5, measure)

    pattern, _ = exact(record, 0)
    metrics = {"two back": metric("two back", share_on(second_previous))}
    found = scan_layer(record, 0, size=7, metrics=metrics).scores
    expected = np.trace(pattern, offset=-2, axis1=1, axis2=2) / 125
    assert_arrays_close(found["two back"], expected, atol=1e-6)
    before = sum(asked)
    found = scan_layer(record, 1, size=7, metrics=metrics | {"rows": metric("rows", rows)}).scores
    assert sum(asked) == before, "the cells of a text are found once"
    assert_arrays_close(found["rows"], [1] * 4, rtol=1e-5)
    assert scan_layer(record, 0, size=7, metrics={}).scores == {}


def test_template_of_many_cells_is_not_kept_one_by_one():
    record = record_at(127)
    every = share_on(lambda queries, ids: torch.arange(len(ids)) <= queries[:, None])
    metric = replace(HEAD_METRICS["first_token"], measure=every)
    found = scan_layer(record, 0, size=7, metrics=HEAD_METRICS | {"first_token": metric})
    assert_arrays_close(found.scores["first_token"], [1] * 4, rtol=1e-5)


def test_layer_or_size_that_is_none_is_refused():
    record = record_at(3)
    with pytest.raises(ConfigError, match="layer must"):
        scan_layer(record, 2, size=7)
    with pytest.raises(ConfigError, match=r"size must be .* at least 1; got 0"):
        scan_layer(record, 0, size=0)
