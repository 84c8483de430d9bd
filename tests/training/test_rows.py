import numpy as np
import pytest

from attention.errors import HeadscopeError
from attention.training.rows import (
    IGNORED,
    RowMix,
    Texts,
    copied_row,
    make_batch,
    mirrored_row,
    random_tokens,
    repeated_row,
)

VOCAB_SIZE, LENGTH, ROWS = 101, 43, 7
PLAIN = RowMix(random=0.0, copies=0.0)


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.fixture
def texts():
    first = np.arange(1, 98)  # every token at most once, so that a repeat is a copy
    second = np.full(53, 99)
    return Texts.build([first, second], [1.0, 1.0], vocab_size=VOCAB_SIZE, pool_size=5)


def test_texts_are_drawn_by_length_times_weight():
    parts = [np.ones(30, dtype=np.int64), np.ones(10, dtype=np.int64)]
    texts = Texts.build(parts, [1.0, 3.0], vocab_size=2)
    np.testing.assert_allclose(texts.shares, [0.5, 0.5])


def test_the_pool_holds_the_commonest_tokens_and_no_bos():
    part = np.array([0, 0, 0, 0, 4, 4, 4, 2, 2, 3])
    texts = Texts.build([part], [1.0], vocab_size=5, pool_size=2)
    assert texts.pool.tolist() == [4, 2]
    assert texts.rarity[0] == 0


def test_a_passage_may_reach_the_texts_last_token(rng):
    texts = Texts.build([np.array([1, 2, 3])], [1.0], vocab_size=4)
    assert {texts.passage(2, rng).tolist()[-1] for _ in range(50)} == {2, 3}
    assert texts.passage(3, rng).tolist() == [1, 2, 3]


@pytest.mark.parametrize("from_pool", [0.0, 1.0])
def test_random_tokens_are_never_bos(from_pool, texts, rng):
    drawn = np.concatenate([random_tokens(200, texts, from_pool, rng) for _ in range(9)])
    assert drawn.min() > 0
    assert drawn.max() < VOCAB_SIZE
    assert from_pool == 0.0 or set(drawn) <= set(texts.pool)


def test_a_mirrored_row_comes_back_and_only_that_is_counted(texts, rng):
    for _ in range(50):
        tokens, counted = mirrored_row(LENGTH, texts, 0.0, rng)
        assert len(tokens) == LENGTH
        known = np.flatnonzero(counted)
        size = known[0] - 1  # the second half's first token is not announced
        assert known.tolist() == list(range(size + 1, 2 * size))
        assert tokens[:size].tolist() == tokens[size : 2 * size][::-1].tolist()


def test_a_mix_makes_mirrored_rows(texts, rng):
    mirrored = RowMix(random=0.0, copies=0.0, mirrored=1.0)
    _, targets = make_batch(ROWS, LENGTH, mirrored, texts=texts, rng=rng)
    assert (targets[:, 0] == IGNORED).all()
    assert (targets != IGNORED).any(axis=1).all()


def test_the_loss_of_a_repeat_counts_what_can_be_known(texts, rng):
    """Caught: the first copy, and the token that starts the second, cannot be known."""
    for _ in range(50):
        tokens, counted = repeated_row(LENGTH, texts, 0.0, rng)
        assert len(tokens) == len(counted) == LENGTH
        period = int((~counted).sum()) - 1
        assert 5 <= period <= LENGTH // 2
        assert not counted[: period + 1].any()
        assert counted[period + 1 :].all()
        np.testing.assert_array_equal(tokens[period:], tokens[:-period])


def test_a_copied_row_holds_its_first_passage_twice(texts, rng):
    for _ in range(50):
        row = copied_row(LENGTH, texts, rng)
        assert len(row) == LENGTH
        again = [
            start
            for start in range(8, LENGTH - 7)
            if np.array_equal(row[start : start + 8], row[:8])
        ]
        assert again


def test_inputs_start_with_bos_and_targets_are_one_further(texts, rng):
    inputs, targets = make_batch(ROWS, LENGTH, PLAIN, texts=texts, rng=rng)
    assert inputs.shape == targets.shape == (ROWS, LENGTH)
    assert (inputs[:, 0] == 0).all()
    assert (inputs[:, 1:] != 0).all()
    np.testing.assert_array_equal(inputs[:, 1:], targets[:, :-1])


def test_a_left_out_target_is_still_an_input(texts, rng):
    inputs, targets = make_batch(ROWS, LENGTH, RowMix(1.0, 0.0), texts=texts, rng=rng)
    assert (targets[:, :6] == IGNORED).all()
    assert (inputs[:, 1:] != IGNORED).all()
    counted = targets[:, :-1] != IGNORED
    np.testing.assert_array_equal(inputs[:, 1:][counted], targets[:, :-1][counted])


def test_the_same_generator_gives_the_same_batch(texts):
    mix = RowMix(random=0.4, copies=0.3)
    batches = [
        make_batch(ROWS, LENGTH, mix, texts=texts, rng=np.random.default_rng((5, 1, 2)))
        for _ in range(2)
    ]
    np.testing.assert_array_equal(batches[0], batches[1])


@pytest.mark.parametrize(("random", "copies"), [(-0.1, 0.0), (0.0, 1.1), (0.6, 0.6)])
def test_a_mix_that_is_no_share_is_refused(random, copies):
    with pytest.raises(HeadscopeError, match="must be"):
        RowMix(random=random, copies=copies)
