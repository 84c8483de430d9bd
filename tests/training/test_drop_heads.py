import pytest
import torch

from attention.training.drop_heads import heads_dropped
from tests.builders import small_model

IDS = torch.tensor([[0, 7, 1, 2], [0, 7, 1, 2], [0, 7, 1, 2]])


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def model():
    return small_model()


def seen(model, share, seed=0):
    """What goes into the first layer's W_O: each head's output, by row."""
    caught = []
    layer = model.blocks[0].attn.out_proj
    with heads_dropped(model, share, generator(seed)), torch.no_grad():
        hook = layer.register_forward_pre_hook(lambda module, args: caught.append(args[0]))
        model(IDS)
        hook.remove()
    (z,) = caught
    return z.unflatten(-1, (model.config.num_heads, -1))


def test_a_head_is_left_out_of_a_whole_row_or_counts_for_more(model):
    whole = seen(model, 0.0)
    dropped = seen(model, 0.5)
    kinds = set()
    for row in range(3):
        for head in range(model.config.num_heads):
            got, full = dropped[row, :, head], whole[row, :, head]
            out = bool((got == 0).all())
            kinds.add(out)
            torch.testing.assert_close(got, torch.zeros_like(full) if out else 2 * full)
    assert kinds == {True, False}


def test_rows_and_seeds_draw_for_themselves(model):
    dropped = seen(model, 0.5) == 0
    assert not torch.equal(dropped[0], dropped[1]) or not torch.equal(dropped[1], dropped[2])
    assert not torch.equal(dropped, seen(model, 0.5, seed=1) == 0)
    assert torch.equal(dropped, seen(model, 0.5) == 0)


def test_nothing_stays_behind(model):
    before = model(IDS)
    with heads_dropped(model, 0.5, generator()):
        assert not torch.equal(model(IDS), before)
    torch.testing.assert_close(model(IDS), before, rtol=0, atol=0)
