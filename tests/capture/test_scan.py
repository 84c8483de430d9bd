"""What the compiled core reads off patterns that it does not keep."""

import numpy as np
import pytest
import torch

from attention.capture.native import NativeCore, difference
from attention.capture.scan import Scanner, Wanted, scan_difference
from attention.layer_record import LayerRecord, PatternRule
from attention.layer_scan import scan_layer
from attention.record import RunRecord
from attention.tokens import Tokens
from tests.builders import assert_arrays_close


@pytest.fixture(scope="module")
def plain(native):
    """The same library with its own matrix product."""
    twin = NativeCore.__new__(NativeCore)
    twin.__dict__.update(native.__dict__, _sgemm=None, blas=False)
    return twin


def inputs(seq_len=150):
    """q of four heads, k of two, as a projection leaves them: positions outermost in memory."""
    generator = torch.Generator().manual_seed(5)
    return tuple(
        torch.randn(seq_len, count, 10, generator=generator).transpose(0, 1) for count in (4, 2)
    )


def scanned(core, q, k, *, step=7, hide_first=True, parts=()):
    seq_len = q.shape[1]
    starts = np.arange(seq_len + 1)[None]
    wanted = Wanted(starts, np.arange(seq_len, dtype=np.int32), step, hide_first)
    scanner = core.scanner(q, k, scale=0.3, wanted=wanted)
    for start, stop in zip((0, *parts), (*parts, seq_len), strict=True):
        scanner.read(range(start, stop))
    return scanner.squares, scanner.totals, scanner.entropies()


def test_reads_what_the_formula_says(native, plain):
    assert scan_difference(native.scanner) is None
    assert scan_difference(plain.scanner) is None


@pytest.mark.parametrize("step", [1, 7, 80])
def test_parts_in_which_it_reads_make_no_difference(native, step):
    whole = scanned(native, *inputs(), step=step)
    for parts in ((64,), (1, 2, 41, 149)):
        for found, expected in zip(
            scanned(native, *inputs(), step=step, parts=parts), whole, strict=True
        ):
            assert_arrays_close(found, expected, rtol=1e-6)


def test_number_of_threads_changes_no_bit(native):
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            found.append(scanned(native, *inputs()))
    finally:
        torch.set_num_threads(before)
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "laid_out",
    [
        torch.Tensor.contiguous,
        lambda t: t.transpose(1, 2).contiguous().transpose(1, 2),
        lambda t: torch.cat([t, t], dim=-1)[..., : t.shape[-1]],
    ],
    ids=["by head", "features outermost", "a part"],
)
def test_layout_in_memory_makes_no_difference(native, laid_out):
    found = scanned(native, *map(laid_out, inputs()))
    for one, other in zip(found, scanned(native, *inputs()), strict=True):
        assert_arrays_close(one, other, rtol=1e-6)


@pytest.mark.parametrize("wrong", ["squares", "totals", "sums", "spreads"])
def test_check_finds_a_core_that_reads_something_else(native, monkeypatch, wrong):
    assert difference(native) is None
    read = Scanner.read

    def misread(self, rows):
        read(self, rows)
        getattr(self, wrong)[...] *= 1.01

    monkeypatch.setattr(Scanner, "read", misread)
    assert "reads off patterns differs" in str(difference(native))


def test_core_without_memory_for_its_scratch_leaves_it_to_torch(native, monkeypatch):
    q, k = inputs()
    layer = LayerRecord(q, k, k, PatternRule(0.3))
    record = RunRecord(Tokens.from_ids(range(150)), torch.zeros(150, 2), (layer,), "sdpa")
    expected, calls, told = scan_layer(record, 0, size=9), [], []

    def none_left(_, rows):
        calls.append(rows)
        raise MemoryError

    monkeypatch.setattr(Scanner, "read", none_left)
    found = scan_layer(record, 0, size=9, progress=told.append)
    assert calls, "the compiled core was asked"
    assert told[-1] == 1.0
    assert_arrays_close(found.thumbnails, expected.thumbnails, atol=1e-6)
    for name, scores in found.scores.items():
        assert_arrays_close(scores, expected.scores[name], atol=1e-6)
