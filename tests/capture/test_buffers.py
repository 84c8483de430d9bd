import threading

import pytest
import torch

from attention.capture.buffers import SMALLEST, BufferPool

LARGE = (SMALLEST // 4,)  # float32


@pytest.fixture
def pool():
    return BufferPool()


def test_memory_is_used_again_once_nobody_holds_it(pool):
    first = pool.take(LARGE, torch.float32)
    address = first.data_ptr()
    assert pool.take(LARGE, torch.float32).data_ptr() != address  # still held
    del first
    assert pool.take(LARGE, torch.float32).data_ptr() == address


@pytest.mark.parametrize(
    "part",
    [lambda t: t[5:9], lambda t: t.numpy(), lambda t: t.view(-1, 2).T, lambda t: t.detach()],
    ids=["slice", "array", "transposed", "detached"],
)
def test_whatever_is_left_of_a_tensor_keeps_its_memory(pool, part):
    tensor = pool.take(LARGE, torch.float32)
    tensor.fill_(3)
    kept = part(tensor)
    del tensor
    assert pool.idle == 0
    pool.take(LARGE, torch.float32).fill_(7)
    assert (kept == 3).all()
    del kept
    assert pool.idle > 0


def test_tensor_has_the_shape_and_dtype_asked_for(pool):
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        tensor = pool.take((3, 700, 701), dtype)
        assert (tensor.shape, tensor.dtype) == ((3, 700, 701), dtype)
        assert tensor.is_contiguous()
        tensor.fill_(1.5)
        assert (tensor == 1.5).all()


def test_buffer_of_another_size_is_used_unless_most_would_be_wasted(pool):
    address = pool.take((SMALLEST // 2,), torch.float32).data_ptr()
    assert pool.idle == 2 * SMALLEST
    assert pool.take(LARGE, torch.float32).data_ptr() == address
    pool.clear()
    pool.take((SMALLEST,), torch.float32)
    pool.take(LARGE, torch.float32)
    assert pool.idle == 5 * SMALLEST  # four times as large was left alone


def test_no_more_than_the_limit_is_kept_and_the_oldest_goes_first():
    pool = BufferPool(idle_bytes=3 * SMALLEST)
    tensors = [pool.take(LARGE, torch.float32) for _ in range(5)]
    addresses = [tensor.data_ptr() for tensor in tensors]
    while tensors:
        tensors.pop(0)
    assert pool.idle == 3 * SMALLEST
    again = [pool.take(LARGE, torch.float32) for _ in range(3)]
    assert [tensor.data_ptr() for tensor in again] == addresses[:1:-1]  # the latest first


def test_small_tensors_are_left_to_the_allocator(pool):
    pool.take((SMALLEST // 4 - 1,), torch.float32)
    assert pool.idle == 0
    assert pool.take((0, 5), torch.float32).shape == (0, 5)


def test_threads_never_share_a_buffer(pool):
    wrong, start = [], threading.Barrier(6)

    def work(number):
        start.wait()
        for _ in range(40):
            tensor = pool.take(LARGE, torch.float32)
            tensor.fill_(number)
            if not (tensor == number).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert pool.idle <= 12 * SMALLEST  # a thread asks for the next while it holds the last
