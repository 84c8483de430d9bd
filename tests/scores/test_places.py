import numpy as np
import pytest
import torch

from attention.scores import HEAD_METRICS
from attention.scores.metric import ShareOn, share_on
from attention.scores.places import indices, places_of

TEMPLATES = [name for name in HEAD_METRICS if isinstance(HEAD_METRICS[name].measure, ShareOn)]
TEXTS = {
    "one token": [5],
    "two": [5, 5],
    "la la la": [3] * 23,
    "a b a b": [1, 2] * 11,
    "a b c a b c": [4, 1, 2] * 9,
    "BOS and twice": [0, *range(7, 24), *range(7, 24)],
    "first token again": [9, 1, 2, 3, 9, 4, 5, 9, 9, 6, 2, 3, 9],
    **{f"random, {n}": np.random.default_rng(n).integers(0, n, 127).tolist() for n in (2, 9, 60)},
}


def square(template, ids):
    ids = torch.tensor(ids)
    return template.cells(torch.arange(len(ids)), ids).numpy()


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("name", TEMPLATES)
def test_listed_cells_are_those_of_the_template(name, text):
    template, ids = HEAD_METRICS[name].measure, TEXTS[text]
    assert template.listed is not None
    queries, keys = template.listed(np.array(ids), len(ids) ** 2)
    found = np.zeros((len(ids), len(ids)), dtype=bool)
    found[queries, keys] = True
    np.testing.assert_array_equal(found, square(template, ids))
    assert found.sum() == len(queries), "none twice"
    assert (np.diff(queries) >= 0).all()


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("name", TEMPLATES)
def test_places_of_some_rows_are_the_cells_there(monkeypatch, name, listed):
    monkeypatch.setattr("attention.scores.places.CELLS_AT_ONCE", 300)
    template, ids = HEAD_METRICS[name].measure, tuple(TEXTS["random, 60"])
    exact = square(template, ids)
    places = places_of(template if listed else share_on(template.cells), ids)
    assert places.num_rows == exact.any(axis=1).sum()
    flat, [length] = indices([places], range(50, 97))
    np.testing.assert_array_equal(flat, np.flatnonzero(exact[50:97, :97]))
    assert length == len(flat)


@pytest.mark.parametrize("name", ["duplicate_token", "induction"])
def test_many_copies_are_not_listed(name):
    # Five words at random: a fifth of all cells are copies, in memory ten times what is a text's.
    ids = tuple(np.random.default_rng(0).integers(0, 5, 1001).tolist())
    assert places_of(HEAD_METRICS[name].measure, ids) is None


def test_many_cells_are_not_listed():
    template = share_on(lambda queries, ids: torch.arange(len(ids)) <= queries[:, None])
    assert places_of(template, tuple(range(11))) is not None  # of a short text all are few
    assert places_of(template, tuple(range(401))) is None
