"""A text through every checkpoint."""

import numpy as np
import pytest

from attention.errors import TextError
from attention.formation import load_formation
from components.film import MOST_TOKENS, STEPS, make_film
from components.looks import Look
from tests.builders import assert_arrays_close

TEXT = "red seven house red seven house"


@pytest.fixture(scope="module")
def formation():
    return load_formation()


@pytest.fixture(scope="module")
def film(formation):
    return make_film(formation, TEXT)


def test_every_checkpoint_gives_every_head_a_pattern(film, formation):
    length = len(film.tokens)
    assert film.patterns.shape == (len(formation), 2, 4, length, length)
    assert film.shape == (25, 2, 4)
    assert (film.total, film.tokens.labels[0]) == (length, "<bos>")
    assert_arrays_close(film.patterns.sum(axis=-1), np.ones(film.patterns.shape[:-1]), rtol=1e-5)


@pytest.mark.parametrize("index", [0, 13, 24])
def test_pattern_is_that_of_the_checkpoint(film, formation, index):
    expected = formation.model(index).run(TEXT).pattern(1, 3)
    assert_arrays_close(film.patterns[index, 1, 3], expected, rtol=0, atol=0)


def test_bytes_hold_the_weights_row_by_row(film):
    steps = np.frombuffer(film.packed, dtype="<u2").reshape(25, 2, 4, -1)
    row, start = 5, 5 * 6 // 2
    found = steps[17, 1, 2, start : start + row + 1] / STEPS
    assert_arrays_close(found, film.patterns[17, 1, 2, row, : row + 1], rtol=0, atol=0.5 / STEPS)
    assert steps.shape[-1] == len(film.tokens) * (len(film.tokens) + 1) // 2


def test_long_text_is_cut_and_its_length_told(formation):
    film = make_film(formation, "one two " * 200)
    assert len(film.tokens) == film.patterns.shape[-1] == MOST_TOKENS
    assert film.total > 400
    assert film.thumbnails(24, 64, Look()).shape == (8, 48, 48)


def test_hidden_first_token_leaves_the_rest_to_sum_to_one(film):
    shown = film.shown(24, Look(hide_first=True))[1, 3]
    assert np.isnan(shown[:, 0]).all()
    assert_arrays_close(np.nansum(shown[1:], axis=1), np.ones(len(shown) - 1), rtol=1e-5)


def test_single_token_is_a_film_too(formation):
    film = make_film(formation, "a")
    assert film.patterns.shape[-1] == 2
    assert [len(layer) for layer in film.habits[24]] == [4, 4]


def test_half_a_surrogate_pair_is_refused(formation):
    with pytest.raises(TextError, match="must be valid Unicode"):
        make_film(formation, "a\ud800")
