import threading

import pytest
import torch

from attention import capture
from attention.capture import use_native
from tests.capture.formula import assert_exact, inputs

SCALE = 0.3
LARGE = (1, 4, 2, 300, 300, 16)  # 1.4 MB of pattern: its memory comes from the pool


@pytest.fixture(params=["C", "torch"])
def core(request):
    use_native(request.param == "C")
    if capture.capture_core().name != request.param:
        reason = str(capture.capture_core())
        use_native(None)
        pytest.skip(reason)
    yield request.param
    use_native(None)


def attend(tensors, *, need_pattern=True):
    with torch.no_grad():
        return capture.attend(*tensors, scale=SCALE, need_pattern=need_pattern)


@pytest.mark.usefixtures("core")
def test_equals_the_formula():
    tensors = inputs(LARGE)
    assert_exact(*attend(tensors), *tensors, SCALE)


@pytest.mark.usefixtures("core")
def test_pattern_that_a_caller_keeps_never_changes():
    _, kept = attend(inputs(LARGE))
    row, copy = attend(inputs(LARGE, seed=8))[1][0, 2, 299], kept.clone()
    before = row.clone()
    for seed in range(9, 13):
        attend(inputs(LARGE, seed=seed))
    torch.testing.assert_close(kept, copy, rtol=0, atol=0)
    torch.testing.assert_close(row, before, rtol=0, atol=0)


@pytest.mark.usefixtures("core")
def test_zeros_are_written_anew_into_memory_that_a_caller_has_changed():
    tensors = inputs(LARGE)
    attend(tensors)[1].fill_(5)  # it is the caller's own
    assert_exact(*attend(tensors), *tensors, SCALE)


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize("shape", [LARGE, (2, 3, 3, 11, 11, 5), (1, 2, 2, 67, 131, 7)], ids=str)
def test_output_does_not_depend_on_the_pattern_by_a_bit(shape):
    tensors = inputs(shape)
    z, pattern = attend(tensors)
    alone, none = attend(tensors, need_pattern=False)
    assert none is None
    torch.testing.assert_close(alone, z, rtol=0, atol=0)
    only = capture.patterns(*tensors[:2], scale=SCALE)
    torch.testing.assert_close(only, pattern, rtol=0, atol=0)


@pytest.mark.usefixtures("core")
def test_threads_share_nothing():
    found, start = {}, threading.Barrier(6)
    expected = {seed: attend(inputs(LARGE, seed=seed)) for seed in range(6)}

    def work(seed):
        tensors = inputs(LARGE, seed=seed)
        start.wait()
        found[seed] = [attend(tensors) for _ in range(5)]

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Not to the bit: a new thread may multiply with more or fewer threads of its own.
    for seed, (z, pattern) in expected.items():
        for own_z, own_pattern in found[seed]:
            torch.testing.assert_close(own_z, z, rtol=1e-5, atol=2e-6)
            torch.testing.assert_close(own_pattern, pattern, rtol=1e-5, atol=2e-6)


def test_core_without_memory_for_its_scratch_leaves_it_to_torch(native, monkeypatch):
    assert capture.capture_core().name == "C"

    def none_left(*_, **__):
        raise MemoryError

    monkeypatch.setattr(type(native), "attend", none_left)
    tensors = inputs((1, 2, 2, 67, 67, 8))
    assert_exact(*attend(tensors), *tensors, SCALE)
