import pytest
import torch

from attention import capture
from tests.capture.formula import SHAPES, assert_exact, inputs

SCALE = 0.3


def attend(tensors):
    with torch.no_grad():
        return capture.attend_packed(*tensors, scale=SCALE)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_equals_the_formula_once_it_is_unpacked(shape):
    tensors = inputs(shape)
    z, packed = attend(tensors)
    assert_exact(z, packed.dense(), *tensors, SCALE)


def test_one_head_is_its_part_of_all():
    _, packed = attend(inputs((2, 4, 2, 131, 131, 10)))
    for head in range(4):
        torch.testing.assert_close(packed.head(head), packed.dense()[:, head], rtol=0, atol=0)


def test_holds_little_more_than_the_triangle():
    _, packed = attend(inputs((1, 4, 4, 512, 512, 8)))
    assert packed.nbytes < 0.63 * packed.dense().nbytes


def test_never_changes_while_it_is_kept():
    _, packed = attend(inputs((1, 8, 8, 512, 512, 8)))  # blocks of 1 MB and more
    before = packed.dense()
    attend(inputs((1, 8, 8, 512, 512, 8), seed=8))
    torch.testing.assert_close(packed.dense(), before, rtol=0, atol=0)
