import pytest
import torch

from attention.benchmark.limit import ATTENTION, PROJECTIONS, Limit, plain_products
from attention.benchmark.work import Sizes, work
from attention.config import AttentionConfig
from attention.implementations import IMPLEMENTATIONS


def sizes(*, passes="forward", **changes):
    config = AttentionConfig.total(7, 15, 3, 11, **changes)
    return Sizes(config=config, batch=2, seq_len=11, itemsize=4, passes=passes)


LIMIT = Limit(projections=(3.0, 1.0, 2.0), attention=(10.0, 30.0, 22.0))  # medians 2 and 22 ms


def limit_of(name, **changes):
    return LIMIT.milliseconds(work(sizes(**changes), IMPLEMENTATIONS[name]), sizes(**changes))


def test_full_squares_are_held_against_the_plain_products_as_they_were_timed():
    assert limit_of("batched") == pytest.approx(24.0)


def test_triangle_is_held_against_its_share_of_the_square():
    """66 of 121 cells: 12 of the 22 ms."""
    assert limit_of("sdpa") == pytest.approx(2.0 + 12.0)
    assert LIMIT.least(sizes()) == pytest.approx(14.0)


def test_gradients_are_held_against_three_products():
    assert limit_of("batched", passes="backward") == pytest.approx(72.0)


@pytest.mark.parametrize("changes", [{}, {"out_proj": False}, {"num_kv_heads": 1}])
def test_products_have_the_shapes_of_the_layer(changes, monkeypatch):
    seen = []
    for name in ("mm", "bmm"):
        product = getattr(torch, name)

        def noted(a, b, out, product=product):
            seen.append((*a.shape, b.shape[-1]))
            return product(a, b, out=out)

        monkeypatch.setattr(torch, name, noted)
    calls = plain_products(sizes(**changes), torch.device("cpu"), torch.float32)
    with torch.inference_mode():
        calls[PROJECTIONS]()
        calls[ATTENTION]()
    columns = 25 if "num_kv_heads" in changes else 45
    through = [] if changes.get("out_proj") is False else [(22, 15, 15)]
    assert seen == [(22, 7, columns), *through, (6, 11, 5, 11), (6, 11, 11, 5)]


def test_limit_of_a_decode_step_has_its_shapes(monkeypatch):
    seen = []
    for name in ("mm", "bmm"):
        product = getattr(torch, name)

        def noted(a, b, out, product=product):
            seen.append((*a.shape, b.shape[-1]))
            return product(a, b, out=out)

        monkeypatch.setattr(torch, name, noted)
    calls = plain_products(sizes(passes="decode"), torch.device("cpu"), torch.float32)
    with torch.inference_mode():
        for call in calls.values():
            call()
    assert seen == [(2, 7, 45), (2, 15, 15), (6, 1, 5, 12), (6, 1, 12, 5)]
    assert limit_of("sdpa", passes="decode") == pytest.approx(24.0)  # no cell is left out


@pytest.mark.parametrize("passes", ["forward", "decode"])
def test_products_multiply_as_many_flops_as_the_formula(passes):
    from torch.utils.flop_counter import FlopCounterMode

    calls = plain_products(sizes(passes=passes), torch.device("cpu"), torch.float32)
    with FlopCounterMode(display=False) as counter, torch.inference_mode():
        for call in calls.values():
            call()
    assert counter.get_total_flops() == work(sizes(passes=passes), IMPLEMENTATIONS["fused"]).flops
