"""Which cells each template has, on tokens small enough to check by eye."""

import pytest
import torch

from attention.scores.current_token import current_token
from attention.scores.duplicate_token import duplicate_token
from attention.scores.first_token import first_token
from attention.scores.induction import induction
from attention.scores.previous_token import previous_token


def cells(template, ids):
    return [
        tuple(cell)
        for cell in template(torch.arange(len(ids)), torch.tensor(ids)).nonzero().tolist()
    ]


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (previous_token, [(1, 0), (2, 1), (3, 2)]),
        (current_token, [(0, 0), (1, 1), (2, 2), (3, 3)]),
        (first_token, [(1, 0), (2, 0), (3, 0)]),
    ],
)
def test_position_templates(template, expected):
    assert cells(template, [5, 5, 5, 5]) == expected


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([7, 1, 2, 3, 1, 2, 3], [(4, 2), (5, 3), (6, 4)]),
        ([1, 2, 3, 4], []),
        ([1, 2, 1, 2, 1], [(4, 1)]),  # (2, 1), (3, 2), (4, 3) are the previous token
        ([4, 4], []),
        ([3, 1, 2, 3], [(3, 1)]),
        ([2, 5, 7, 2, 9, 2], [(3, 1), (5, 1)]),  # (5, 4) is the previous token
    ],
)
def test_induction_looks_after_earlier_copies(ids, expected):
    assert cells(induction, ids) == expected


def test_induction_does_not_take_the_last_token_for_the_one_before_the_first():
    # Shifting the ids by one turns them round: the last becomes the one "before" key 0.
    assert cells(induction, [1, 2, 3, 9, 9, 9]) == []


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([7, 1, 2, 3, 1, 2, 3], [(4, 1), (5, 2), (6, 3)]),
        ([5, 2, 3, 5], []),  # the copy is the first token, where many heads rest
        ([0, 4, 4, 4], []),  # a run of one token: heads of any kind would score
        ([0, 4, 5, 6, 4], [(4, 1)]),
        ([1, 2, 3, 4], []),
    ],
)
def test_duplicate_looks_at_earlier_copies(ids, expected):
    assert cells(duplicate_token, ids) == expected


def test_some_rows_have_the_same_cells_as_in_the_whole():
    ids = torch.tensor([7, 1, 2, 3, 1, 2, 3])
    for template in (previous_token, current_token, first_token, duplicate_token, induction):
        whole = template(torch.arange(7), ids)
        rows = torch.tensor([4, 5])
        torch.testing.assert_close(template(rows, ids), whole[rows])
