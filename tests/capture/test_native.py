import ctypes
from pathlib import Path

import pytest
import torch

from attention.capture import native as module_under_test
from attention.capture.native import NativeCore, difference, find_sgemm
from tests.capture.formula import SHAPES, assert_exact, inputs

SCALE = 0.3


def attend(core, q, k, v):
    pattern = q.new_full((*q.shape[:3], k.shape[2]), torch.nan)
    z = core.attend(q, k, v, pattern, scale=SCALE)
    return z.transpose(1, 2), pattern


@pytest.fixture(scope="module")
def plain(native):
    """The same library with its own matrix product."""
    twin = NativeCore.__new__(NativeCore)
    twin.__dict__.update(native.__dict__, _sgemm=None, blas=False)
    return twin


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_equals_the_formula(native, shape):
    q, k, v = inputs(shape)
    assert_exact(*attend(native, q, k, v), q, k, v, SCALE)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_equals_the_formula_without_a_blas(plain, shape):
    q, k, v = inputs(shape)
    assert_exact(*attend(plain, q, k, v), q, k, v, SCALE)


def test_large_pattern_is_written_past_the_caches_all_the_same(native, monkeypatch):
    q, k, v = inputs((1, 2, 2, 96, 96, 8))
    expected = attend(native, q, k, v)
    monkeypatch.setattr(module_under_test, "LARGE_BYTES", 0)
    torch.testing.assert_close(attend(native, q, k, v), expected, rtol=0, atol=0)


def test_number_of_threads_changes_no_bit(native):
    q, k, v = inputs((2, 4, 2, 150, 150, 16))
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            found.append(attend(native, q, k, v))
    finally:
        torch.set_num_threads(before)
    for z, pattern in found[1:]:
        torch.testing.assert_close(z, found[0][0], rtol=0, atol=0)
        torch.testing.assert_close(pattern, found[0][1], rtol=0, atol=0)


@pytest.mark.parametrize(
    "laid_out",
    [
        torch.Tensor.contiguous,
        lambda t: t.transpose(2, 3).contiguous().transpose(2, 3),
        lambda t: torch.cat([t, t], dim=-1)[..., : t.shape[-1]],
        lambda t: t.expand(2, -1, -1, -1),
    ],
    ids=["by head", "features outermost", "a part", "expanded"],
)
def test_layout_in_memory_makes_no_difference(native, laid_out):
    q, k, v = map(laid_out, inputs((1, 4, 2, 67, 67, 10)))
    assert_exact(*attend(native, q, k, v), q, k, v, SCALE)


def test_weight_on_one_key_is_exactly_one_and_zero(native):
    q = torch.full((1, 1, 3, 1), 1e4)
    k = torch.tensor([0.0, 1e4, -1e4])[None, None, :, None]
    _, pattern = attend(native, q, k, torch.ones(1, 1, 3, 1))
    torch.testing.assert_close(
        pattern[0, 0], torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 1, 0]]), rtol=0, atol=0
    )


def test_weights_that_are_small_keep_their_digits(native):
    # exp over its whole range, against torch's.
    k = torch.linspace(0, -86, 301)[None, None, :, None]
    _, pattern = attend(native, torch.full((1, 1, 1, 1), 1 / SCALE), k, torch.ones(1, 1, 301, 1))
    torch.testing.assert_close(
        pattern[0, 0, 0].double(), k.flatten().double().softmax(0), rtol=1e-5, atol=0
    )


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_numbers_that_are_not_finite_spoil_their_own_rows_and_later_ones(native, value):
    q, k, v = inputs((1, 1, 1, 40, 40, 4))
    k[0, 0, 33] = value
    _, pattern = attend(native, q, k, v)
    assert pattern[0, 0, :33].isfinite().all()
    assert pattern[0, 0, 33:, 33].isnan().any()


def test_takes_what_it_can_compute(native, plain):
    q, k, v = inputs((1, 2, 2, 5, 5, 4))
    assert native.takes(q, k, v)
    assert native.takes(q, k, None)
    assert not native.takes(q.double(), k.double(), v.double())
    assert not native.takes(q.to("meta"), k.to("meta"), None)
    assert not native.takes(q[:0], k[:0], v[:0])
    far = torch.empty(1).as_strided((1, 1, 1, 1), (1 << 31, 1, 1, 1))
    assert not native.takes(far, k, v)
    plain.has_threads = False
    assert plain.takes(q, k, v) == (torch.get_num_threads() == 1)


def test_block_that_is_too_large_is_refused_rather_than_overrun(native):
    job = module_under_test._Job(block=65, queries=1, keys=1, batch=1, heads=1, threads=1)
    assert native._capture(ctypes.byref(job)) == 1


# ------------------------------------------------------------------ the check


def test_check_finds_a_core_that_computes_something_else(native):
    assert difference(native) is None

    class Doubled(NativeCore):
        def __init__(self):
            self.__dict__.update(native.__dict__)

        def attend(self, q, k, v, pattern, *, scale):
            return native.attend(q, k, v, pattern, scale=2 * scale)

    assert "its pattern differs by" in difference(Doubled())


def test_check_finds_numbers_after_the_diagonal(native):
    class Leaking(NativeCore):
        def __init__(self):
            self.__dict__.update(native.__dict__)

        def attend(self, q, k, v, pattern, *, scale):
            z = native.attend(q, k, v, pattern, scale=scale)
            pattern[..., 0, -1] += 1e-30
            return z

    assert "its pattern is not 0 above the diagonal" in difference(Leaking())


def test_file_that_is_no_core_cannot_be_loaded(tmp_path):
    junk = tmp_path / "junk.so"
    junk.write_bytes(b"no library")
    with pytest.raises(OSError, match=r"junk\.so"):
        NativeCore(junk, blas=False)
    other = next(Path(torch.__file__).parent.glob("lib/libc10.*"))
    with pytest.raises(OSError, match="holds no such function"):
        NativeCore(other, blas=False)


def test_torch_without_a_blas_to_share_is_said(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    with pytest.raises(OSError, match="torch's BLAS shows no sgemm_"):
        find_sgemm()
