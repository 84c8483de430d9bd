"""From weights to what is drawn."""

import numpy as np
import pytest

from components import looks
from components.looks import GAP, HIGHEST, LOG_FLOOR, LOWEST, MASKED, Look

NAN = float("nan")


def causal(seq_len, seed=3):
    rng = np.random.default_rng(seed)
    pattern = np.tril(rng.random((seq_len, seq_len), dtype=np.float32) + 0.01)
    return pattern / pattern.sum(axis=1, keepdims=True)


def test_hiding_the_first_token_renormalises_the_rest():
    pattern = np.array([[1, 0, 0], [0.75, 0.25, 0], [0.5, 0.125, 0.375]], dtype=np.float32)
    rest = looks.without_first(pattern)
    np.testing.assert_allclose(rest[1:, 1:], [[1, 0], [0.25, 0.75]])
    assert np.isnan(rest[:, 0]).all()
    assert np.isnan(rest[0]).all()  # nothing beside the first token: no row, not zeros


def test_hiding_leaves_the_record_as_it_is():
    pattern = causal(5)
    before = pattern.copy()
    looks.without_first(pattern)
    np.testing.assert_array_equal(pattern, before)


def test_later_tokens_are_gaps_and_true_zeros_are_not():
    pattern = np.array([[1, 0], [1, 0]], dtype=np.float32)
    shown = looks.only_seen(pattern)
    assert np.isnan(shown[0, 1])
    assert shown[1, 1] == 0
    codes = looks.packed(shown, Look(), top=1.0)
    assert codes[0, 1] == MASKED
    assert codes[1, 1] == LOWEST


@pytest.mark.parametrize("look", [Look(), Look(log=True)])
def test_weight_of_one_has_the_end_colour(look):
    codes = looks.packed(np.array([[1.0]], dtype=np.float32), look, top=1.0)
    assert codes[0, 0] == HIGHEST


def test_packed_cells_are_bytes_below_255():
    codes = looks.packed(looks.only_seen(causal(11)), Look(), top=0.2)
    assert codes.dtype == np.uint8
    assert codes.max() <= HIGHEST < 255
    assert codes.min() == MASKED > GAP


def test_log_scale_puts_zeros_at_its_floor():
    position = Look(log=True).position(np.array([0, LOG_FLOOR, 0.01, 1], dtype=np.float32), 1.0)
    np.testing.assert_allclose(position, [0, 0, 0.5, 1], atol=1e-6)


def test_range_ends_at_one_unless_asked_otherwise():
    weights = np.array([[0.25, NAN]], dtype=np.float32)
    assert Look().top(weights) == 1.0
    assert Look(to_maximum=True).top(weights) == 0.25


def test_range_of_nothing_is_one():
    assert Look(to_maximum=True).top(np.full((2, 2), np.nan, dtype=np.float32)) == 1.0


@pytest.mark.parametrize("seq_len", [1, 7, 64, 65, 131])
def test_pooling_keeps_the_strongest_weight_of_each_block(seq_len):
    pattern = looks.only_seen(causal(seq_len))
    small = looks.pooled(pattern, 64)
    by = looks.step(seq_len, 64)
    assert small.shape == (-(-seq_len // by),) * 2
    assert small.shape[0] <= 64
    for row in range(small.shape[0]):
        for column in range(small.shape[1]):
            block = pattern[row * by : row * by + by, column * by : column * by + by]
            expected = np.nanmax(block) if np.isfinite(block).any() else np.nan
            np.testing.assert_array_equal(small[row, column], expected)


class Run:
    """Three heads of one layer, as a record shows them."""

    num_layers, num_heads, seq_len = 1, 3, 130

    def __init__(self, reach=None):
        self.reach = reach
        self.patterns = [causal(self.seq_len, seed) for seed in range(3)]
        if reach is not None:
            self.patterns = [np.triu(p, 1 - reach) for p in self.patterns]

    def window(self, layer):
        return self.reach

    def pattern(self, layer, head):
        return self.patterns[head]

    def pooled_layer(self, layer, size):
        return np.stack([np.nan_to_num(looks.pooled(p, size)) for p in self.patterns])


def test_thumbnails_are_the_pooled_patterns_with_gaps_above_the_diagonal():
    run = Run()
    found = looks.thumbnails(run, 0, 64, Look())
    expected = [looks.pooled(looks.only_seen(p), 64) for p in run.patterns]
    np.testing.assert_array_equal(found, expected)


def test_thumbnails_without_the_first_token_are_pooled_after_renormalising():
    run = Run()
    found = looks.thumbnails(run, 0, 64, Look(hide_first=True))
    shown = looks.only_seen(looks.without_first(run.patterns[2]))
    np.testing.assert_array_equal(found[2], looks.pooled(shown, 64))


def test_tokens_before_the_window_are_gaps_and_true_zeros_are_not():
    pattern = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
    seen = np.isfinite(looks.only_seen(pattern, 2))
    np.testing.assert_array_equal(seen, [[1, 0, 0], [1, 1, 0], [0, 1, 1]])
    for beyond in (3, 4, None):  # no shorter than the text: nothing is left out
        np.testing.assert_array_equal(
            np.isnan(looks.only_seen(pattern, beyond)), np.triu(np.ones((3, 3)), 1)
        )


@pytest.mark.parametrize("window", [1, 2, 3, 4, 5, 64, 129, 130])
@pytest.mark.parametrize("size", [64, 43, 130])
def test_thumbnails_have_gaps_where_no_token_of_a_block_is_in_the_window(window, size):
    run = Run(window)
    expected = [looks.pooled(looks.only_seen(p, window), size) for p in run.patterns]
    np.testing.assert_array_equal(looks.thumbnails(run, 0, size, Look()), expected)
    rest = [looks.pooled(looks.shown_pattern(run, 0, h, Look(hide_first=True)), size)
            for h in range(3)]  # fmt: skip
    found = looks.thumbnails(run, 0, size, Look(hide_first=True))
    np.testing.assert_array_equal(found, rest)
