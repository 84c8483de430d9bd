import dataclasses

import numpy as np
import pytest
import torch

from attention import memory
from attention import record as module_under_test
from attention.errors import ConfigError, DeviceError
from attention.implementations import IMPLEMENTATIONS
from attention.layer_record import LayerRecord, PatternRule
from tests.builders import assert_arrays_close, model_config, record_of, small_model, ways

IDS = (7, 1, 2, 3, 1, 2, 3, 97, 53, 11, 5)
WITH_PATTERN = [name for name in ways() if IMPLEMENTATIONS[name].has_pattern]


@pytest.fixture(scope="module")
def record():
    return small_model(model_config(num_heads=9, num_kv_heads=3)).run(IDS)


def long_record(seq_len, heads=3):
    """A record of random q and k, without the cost of a model."""
    generator = torch.Generator().manual_seed(4)
    q, k = (3 * torch.randn(heads, seq_len, 5, generator=generator) for _ in "qk")
    layer = LayerRecord(q, k, k, PatternRule(scale=5**-0.5))
    tokens = module_under_test.Tokens.from_ids(range(seq_len))
    return module_under_test.RunRecord(tokens, torch.zeros(seq_len, 2), (layer,), "sdpa")


def other_attention(config, **changes):
    return dataclasses.replace(config, attention=dataclasses.replace(config.attention, **changes))


# ------------------------------------------------------------------ the pattern


@pytest.mark.parametrize("name", WITH_PATTERN)
@pytest.mark.parametrize(
    "config",
    [
        model_config(qkv_bias=True),
        model_config(num_heads=9, num_kv_heads=3),
        other_attention(model_config(), window=4),
        other_attention(model_config(), soft_cap=2.0, fixed_scale=0.7),
    ],
)
def test_recomputed_pattern_is_the_one_the_implementation_used(name, config):
    model = small_model(config)
    if not IMPLEMENTATIONS[name].supports(config.attention, rotary=True):
        pytest.skip(f"{name} cannot compute such a layer")
    record, seen = model.run(IDS, implementation=name), []
    with torch.no_grad():
        layers = model.attention_layers(name)
        model(torch.tensor([IDS]), attention=layers, watch=seen.append, need_pattern=True)
    for layer, observation in enumerate(seen):
        # Float32 scores of up to 10 from sums in another order.
        torch.testing.assert_close(
            torch.from_numpy(record.layer_pattern(layer)),
            observation.pattern[0],
            rtol=1e-4,
            atol=1e-6,
        )


def test_pattern_worked_by_hand():
    record = record_of([[1, 0, 0], [0.25, 0.75, 0], [0.5, 0.3, 0.2]])
    assert_arrays_close(
        record.pattern(0, 0), [[1, 0, 0], [0.25, 0.75, 0], [0.5, 0.3, 0.2]], rtol=1e-5
    )


def test_pattern_is_causal_and_its_rows_sum_to_1(record):
    for layer in range(2):
        pattern = record.layer_pattern(layer)
        assert pattern.shape == (9, 11, 11)
        assert pattern.dtype == np.float32
        assert np.count_nonzero(np.triu(pattern, 1)) == 0
        assert_arrays_close(pattern.sum(axis=-1), np.ones(pattern.sum(axis=-1).shape))


def test_one_head_is_its_slice_of_the_layer(record):
    for head in (0, 4, 8):  # of each group that shares a kv head
        assert_arrays_close(record.pattern(1, head), record.layer_pattern(1)[head], rtol=0, atol=0)


@pytest.mark.parametrize(
    ("rows", "cols"),
    [
        (slice(3, 7), slice(2, 5)),
        (slice(10, 11), slice(0, 1)),
        (slice(None), slice(5, None)),
        (slice(-2, None), slice(None)),
        (slice(0, 11, 3), slice(1, 10, 2)),
        (slice(4, 4), slice(None)),
        (slice(5, 100), slice(None)),
    ],
)
def test_tile_is_a_cut_of_the_whole(record, rows, cols):
    # A tile's rows are normalised over all keys, not over those of the tile.
    whole, tile = record.pattern(1, 4), record.pattern(1, 4, rows, cols)
    assert tile.dtype == np.float32
    assert_arrays_close(tile, whole[rows, cols], rtol=1e-5, atol=1e-7)


def test_record_and_its_layers_cannot_be_changed(record):
    for frozen, field in ((record, "logits"), (record.layers[0], "q"), (record.tokens, "ids")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(frozen, field, None)


def test_changing_a_pattern_does_not_change_the_record(record):
    before = record.pattern(0, 0)
    record.pattern(0, 0)[:] = 0
    assert_arrays_close(record.pattern(0, 0), before, rtol=0, atol=0)


def test_recorded_layers_are_small(record):
    # q and k of each head, not seq_len × seq_len of each.
    layer = record.layers[0]
    assert (layer.q.shape, layer.k.shape, layer.v.shape) == ((9, 11, 10), (3, 11, 10), (3, 11, 10))


def test_narrow_records_give_patterns_in_float32():
    record = small_model().to(torch.bfloat16).run(IDS)
    pattern = record.layer_pattern(0)
    assert pattern.dtype == np.float32
    assert_arrays_close(pattern.sum(axis=-1), np.ones(pattern.sum(axis=-1).shape))


def test_float16_scores_do_not_overflow():
    # 300 · 300 · 11 features is far beyond 65,504, the largest float16.
    q = torch.full((1, 3, 11), 300.0, dtype=torch.float16)
    pattern = PatternRule(scale=11**-0.5).pattern(q, q, range(3))
    torch.testing.assert_close(pattern[0, 2], torch.full((3,), 1 / 3))


@pytest.mark.parametrize("rows", [range(40, 71), range(97), range(3, 4), range(90, 97, 3)], ids=str)
@pytest.mark.parametrize("head", [None, 2])
def test_rows_are_exact_whatever_the_way(rows, head):
    layer = long_record(97).layers[0]
    found = layer.pattern(head, rows)
    scores = layer.q.double() @ layer.k.double().transpose(1, 2) * layer.rule.scale
    exact = scores.masked_fill(torch.ones(97, 97).triu(1).bool(), -torch.inf).softmax(-1)
    expected = exact[:, list(rows)] if head is None else exact[head : head + 1, list(rows)]
    # Scores of up to 50 in float32 are off by up to 2e-6, whoever computes them.
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=4e-6)


def test_kept_pattern_is_not_changed_by_the_next():
    record = long_record(401)  # 1.9 MB: its memory is used again, but not while it is held
    kept = record.layers[0].pattern(None, range(401)).numpy()
    before = kept.copy()
    long_record(401, heads=2).layers[0].pattern(None, range(401))
    record.pooled_layer(0, 7)
    assert_arrays_close(kept, before, rtol=0, atol=0)


def test_all_heads_that_do_not_fit_are_refused_and_one_is_not(monkeypatch):
    record = long_record(401)
    monkeypatch.setattr(memory, "free_memory", lambda device: 4 * 3 * 401**2 - 1)
    with pytest.raises(DeviceError, match=r"1.93 MB for all 3 heads' patterns on 401 tokens; it"):
        record.layer_pattern(0)
    assert record.pattern(0, 2).shape == (401, 401)


def test_no_rows_are_no_rows():
    assert long_record(11).layers[0].pattern(None, range(4, 4)).shape == (3, 0, 11)


@pytest.mark.parametrize(
    ("layer", "head", "message"),
    [
        (2, 0, "layer must be 0 to 1; got 2"),
        (-1, 0, "layer must be 0 to 1; got -1"),
        (0, 9, "head must be 0 to 8; got 9"),
        (0, -1, "head must be 0 to 8; got -1"),
    ],
)
def test_head_that_does_not_exist_is_refused(record, layer, head, message):
    with pytest.raises(ConfigError, match=message):
        record.pattern(layer, head)
    with pytest.raises(ConfigError, match=message):
        record.pooled(layer, head, 4)


# ------------------------------------------------------------------ thumbnails


def pooled_by_hand(pattern, step, reduce):
    seq_len = len(pattern)
    starts = range(0, seq_len, step)
    out = np.zeros((len(starts), len(starts)))
    for i, row in enumerate(starts):
        for j, col in enumerate(starts):
            block = pattern[row : row + step, col : col + step]
            queries, keys = np.mgrid[row : row + block.shape[0], col : col + block.shape[1]]
            seen = block[keys <= queries]
            if seen.size:
                out[i, j] = seen.max() if reduce == "max" else seen.mean()
    return out


@pytest.mark.parametrize("reduce", ["max", "mean"])
@pytest.mark.parametrize(("seq_len", "size"), [(11, 3), (11, 5), (97, 64), (97, 13), (128, 64)])
def test_thumbnail_is_the_pattern_pooled(seq_len, size, reduce):
    record = long_record(seq_len)
    step = -(-seq_len // size)
    for head in range(3):
        expected = pooled_by_hand(record.pattern(0, head), step, reduce)
        found = record.pooled(0, head, size, reduce)
        assert found.dtype == np.float32
        assert max(found.shape) <= size
        assert_arrays_close(found, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("reduce", ["max", "mean"])
@pytest.mark.parametrize("size", [11, 12, 64])
def test_text_that_fits_is_not_pooled(record, size, reduce):
    assert_arrays_close(
        record.pooled(0, 4, size, reduce), record.pattern(0, 4), rtol=1e-5, atol=1e-7
    )


def test_single_strong_weight_survives():
    pattern = np.tril(np.full((97, 97), 1e-4))
    pattern[80] = 0
    pattern[80, 41] = 1.0
    record = record_of(pattern / pattern.sum(axis=1, keepdims=True))
    assert record.pooled(0, 0, 13)[80 // 8, 41 // 8] == 1.0


@pytest.mark.parametrize("reduce", ["max", "mean"])
def test_blocks_of_rows_do_not_change_a_thumbnail(monkeypatch, reduce):
    record = long_record(97)
    whole = record.pooled_layer(0, 13, reduce)
    monkeypatch.setattr("attention.pooling.BLOCK_CELLS", 1)
    assert_arrays_close(record.pooled_layer(0, 13, reduce), whole, rtol=1e-5)


def test_layer_of_thumbnails_is_each_heads_own(record):
    layer = record.pooled_layer(1, 4)
    assert layer.shape == (9, 4, 4)
    for head in range(9):
        assert_arrays_close(layer[head], record.pooled(1, head, 4), rtol=1e-6)


def test_thumbnail_of_a_single_token():
    record = record_of([[1.0]])
    assert_arrays_close(record.pooled(0, 0, 64), [[1.0]], rtol=0, atol=0)


@pytest.mark.parametrize("size", [0, -3])
def test_thumbnail_without_cells_is_refused(record, size):
    with pytest.raises(ConfigError, match=f"size must be .* at least 1; got {size}"):
        record.pooled(0, 0, size)


@pytest.mark.usefixtures("as_in_use")
def test_unknown_reduction_is_refused_with_the_choices(record):
    with pytest.raises(ConfigError, match="reduce must be one of max, mean; got 'min'"):
        record.pooled(0, 0, 4, "min")


@pytest.mark.usefixtures("as_in_use")
@pytest.mark.parametrize("name", ["rows", "cols"])
@pytest.mark.parametrize(
    "value", [3, None, [0, 1], slice(None, None, -1), slice(None, None, 0), slice(0.0, 1.0)]
)
def test_what_is_no_slice_that_runs_forwards_is_refused(record, name, value):
    # A number as cols dropped the axis; a negative step ended in torch's own error.
    with pytest.raises(ConfigError, match=f"{name} must be a slice .* of at least 1, .*; got "):
        record.pattern(0, 0, **{name: value})


def test_mean_leaves_out_what_a_window_leaves_out():
    # Row 3 of 4 with a window of 2 sees keys 2 and 3: the block of rows 2, 3 and keys 0, 1 has
    # one cell that may attend, (2, 1), whose weight is a half.
    zeros = torch.zeros(1, 4, 5)
    rule = PatternRule(scale=1.0, window=2)
    layer = LayerRecord(zeros, zeros, zeros, rule)
    tokens = module_under_test.Tokens.from_ids(range(4))
    record = module_under_test.RunRecord(tokens, torch.zeros(4, 2), (layer,), "sdpa")
    assert_arrays_close(record.pattern(0, 0)[3], [0, 0, 0.5, 0.5])
    assert_arrays_close(record.pooled(0, 0, 2, "mean")[1], [0.5, 0.5])


def test_window_is_the_layers_own():
    model = small_model(other_attention(model_config(), window=4))
    record = model.run((1, 2, 3))
    assert [record.window(layer) for layer in range(record.num_layers)] == [4] * record.num_layers
    assert small_model().run((1, 2, 3)).window(0) is None
    with pytest.raises(ConfigError, match="layer must be 0 to"):
        record.window(99)
