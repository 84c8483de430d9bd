import math

import torch

from attention.scores.blocks import RowBlock
from attention.scores.entropy import normalised_entropy


def tally(rows, queries):
    ids = torch.arange(len(rows[0]))
    block = RowBlock(torch.tensor([rows]), torch.tensor(queries), ids)
    return normalised_entropy(block)


def test_entropy_of_a_row_worked_out_by_hand():
    found = tally([[0.5, 0.25, 0.25, 0.0]], [2])
    expected = (0.5 * math.log(2) + 0.5 * math.log(4)) / math.log(3)
    torch.testing.assert_close(found.total, torch.tensor([expected]))
    assert found.count == 1


def test_uniform_row_is_one_and_a_single_weight_is_zero():
    torch.testing.assert_close(tally([[1 / 3, 1 / 3, 1 / 3]], [2]).total, torch.tensor([1.0]))
    torch.testing.assert_close(tally([[0.0, 1.0, 0.0]], [2]).total, torch.tensor([0.0]))


def test_row_0_is_left_out():
    # With one key the measure would be 0 / log(1).
    found = tally([[1.0, 0.0], [0.5, 0.5]], [0, 1])
    torch.testing.assert_close(found.total, torch.tensor([1.0]))
    assert found.count == 1
