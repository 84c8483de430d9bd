import pytest
import torch

from attention.capture import triangle
from tests.capture.formula import SHAPES, above_the_diagonal, assert_exact, exact, inputs

SCALE = 0.3


def attend(q, k, v):
    pattern = q.new_full((*q.shape[:3], k.shape[2]), torch.nan)
    with torch.no_grad():
        z = triangle.attend(q, k, v, pattern, scale=SCALE)
    return z.transpose(1, 2), pattern


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("dtype", "atol"), [(torch.float32, 1e-6), (torch.float64, 1e-14)])
def test_equals_the_formula(shape, dtype, atol):
    q, k, v = inputs(shape, dtype=dtype)
    assert_exact(*attend(q, k, v), q, k, v, SCALE, atol=atol)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_narrow_dtypes_are_near_the_formula(dtype):
    q, k, v = inputs((2, 4, 2, 131, 131, 10), dtype=dtype)
    z, pattern = attend(q, k, v)
    exact_z, exact_pattern = exact(q, k, v, SCALE)
    # Scores of up to 5 and weights are rounded, by half a step each.
    steps = 8 * torch.finfo(dtype).eps
    torch.testing.assert_close(pattern.double(), exact_pattern, rtol=0, atol=steps)
    torch.testing.assert_close(z.double(), exact_z, rtol=0, atol=3 * steps)
    assert torch.count_nonzero(above_the_diagonal(pattern)) == 0


@pytest.mark.parametrize("bytes_held", [1, 1 << 14])
def test_smaller_blocks_compute_the_same(monkeypatch, bytes_held):
    q, k, v = inputs((1, 4, 2, 131, 131, 10))
    monkeypatch.setattr(triangle, "SCRATCH_BYTES", bytes_held)
    assert_exact(*attend(q, k, v), q, k, v, SCALE)


def test_scores_beyond_a_blocks_last_key_are_never_computed(monkeypatch):
    widths, bmm = [], torch.bmm
    monkeypatch.setattr(
        torch, "bmm", lambda a, b, **rest: widths.append(b.shape[-1]) or bmm(a, b, **rest)
    )
    q, k, _ = inputs((1, 2, 2, 150, 150, 8))
    assert triangle.attend(q, k, None, None, scale=SCALE) is None
    assert widths == [64, 128, 150]


def test_inputs_stay_what_they_were():
    tensors = inputs((2, 4, 2, 67, 67, 8))
    before = [t.clone() for t in tensors]
    attend(*tensors)
    for tensor, kept in zip(tensors, before, strict=True):
        torch.testing.assert_close(tensor, kept, rtol=0, atol=0)
