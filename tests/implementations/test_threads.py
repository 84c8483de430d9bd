import copy
import gc
import pickle
import threading

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from attention.config import AttentionConfig
from attention.implementations import build_attention
from attention.implementations.threads import Surroundings
from attention.weights import HeadWeights

CONFIG = AttentionConfig.per_head(7, 5, 3, 11)


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


pytestmark = pytest.mark.usefixtures("two_threads")


def build(config=CONFIG, name="threads"):
    weights = HeadWeights.init(config, generator=torch.Generator().manual_seed(3))
    return build_attention(name, config, weights)


def x_of(config=CONFIG):
    return torch.randn(2, 11, config.d_in, generator=torch.Generator().manual_seed(4))


def watch(module, look):
    """What `look` finds in each head's forward, by the head's number."""
    found = {}
    for i, head in enumerate(module.heads):
        head.register_forward_pre_hook(lambda *_, i=i: found.update({i: look()}))
    return found


def pool_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("head")]


def test_two_heads_run_at_the_same_time():
    # Each waits for another: one after the other they would wait for ever.
    config = AttentionConfig.per_head(7, 5, 4, 11)
    module, meet = build(config), threading.Barrier(2, timeout=20)
    found = watch(module, meet.wait)
    torch.testing.assert_close(module(x_of()), build(config, "looped")(x_of()))
    assert len(found) == 4


def test_heads_run_on_as_many_threads_as_torch_may_use_one_each():
    module = build()
    names = watch(module, lambda: (threading.current_thread().name, torch.get_num_threads()))
    module(x_of())
    assert len({name for name, _ in names.values()}) <= 2
    assert threading.current_thread().name not in {name for name, _ in names.values()}
    assert {count for _, count in names.values()} == {1}
    assert torch.get_num_threads() == 2


def test_results_are_in_the_order_of_the_heads_however_they_finish():
    module, last = build(), threading.Event()

    def wait_for_the_last(*_):
        assert last.wait(20)

    module.heads[0].register_forward_pre_hook(wait_for_the_last)
    module.heads[2].register_forward_pre_hook(lambda *_: last.set())
    torch.testing.assert_close(module(x_of()), build(name="looped")(x_of()), rtol=0, atol=0)


@pytest.mark.parametrize(
    ("mode", "gradients", "inference"),
    [
        (torch.enable_grad, True, False),
        (torch.no_grad, False, False),
        (torch.inference_mode, False, True),
    ],
)
def test_gradient_modes_hold_in_the_heads(mode, gradients, inference):
    module = build()
    found = watch(module, lambda: (torch.is_grad_enabled(), torch.is_inference_mode_enabled()))
    with mode():
        out = module(x_of())
    assert set(found.values()) == {(gradients, inference)}
    assert (out.requires_grad, out.is_inference()) == (gradients, inference)


def test_autocast_holds_in_the_heads():
    module = build()
    found = watch(module, lambda: torch.is_autocast_enabled("cpu"))
    with torch.autocast("cpu", torch.bfloat16):
        assert module(x_of()).dtype == torch.bfloat16
    assert set(found.values()) == {True}
    assert not Surroundings(torch.device("cpu"))._autocast


def test_error_of_a_head_comes_back_once_all_are_done():
    module, done = build(), []
    module.heads[0].register_forward_pre_hook(lambda *_: 1 / 0)
    module.heads[2].register_forward_hook(lambda *_: done.append(True))
    with pytest.raises(ZeroDivisionError):
        module(x_of())
    assert done == [True]
    assert torch.get_num_threads() == 2


def test_dropout_depends_on_the_seed_alone():
    # Threads would draw from one stream of random numbers in whatever order they come.
    module = build(AttentionConfig.per_head(7, 5, 3, 11, dropout=0.5)).train()
    names = watch(module, threading.current_thread)
    outs = []
    for _ in range(2):
        torch.manual_seed(5)
        outs.append(module(x_of()))
    torch.testing.assert_close(outs[0], outs[1], rtol=0, atol=0)
    assert set(names.values()) == {threading.current_thread()}


def test_layer_is_copied_and_pickled_without_its_threads():
    module = build()
    expected = module(x_of())
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert other.pool is not module.pool
        torch.testing.assert_close(other(x_of()), expected, rtol=0, atol=0)


def test_threads_end_with_the_layer():
    gc.collect()
    before = set(pool_threads())
    module = build()
    module(x_of())
    mine = set(pool_threads()) - before
    assert mine
    del module
    gc.collect()
    for thread in mine:
        thread.join(timeout=20)
    assert not any(thread.is_alive() for thread in mine)


def test_one_head_needs_no_pool():
    config = AttentionConfig.per_head(7, 5, 1, 11)
    module = build(config)
    names = watch(module, threading.current_thread)
    module(x_of())
    assert set(names.values()) == {threading.current_thread()}


def test_what_watches_the_operators_sees_those_of_the_heads():
    # A FlopCounterMode around a forward counted the output projection alone.
    x = torch.ones(1, 11, 7)
    counted = []
    for name in ("looped", "threads"):
        module = build(name=name)
        with FlopCounterMode(display=False) as mode, torch.no_grad():
            module(x)
        counted.append(mode.get_total_flops())
    assert counted[0] == counted[1] > 0
