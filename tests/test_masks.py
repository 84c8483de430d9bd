import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from attention.masks import SQUARES, CausalMask, reach

CPU = torch.device("cpu")


def test_mask_is_true_where_a_query_may_attend():
    expected = [[True, False, False], [True, True, False], [True, True, True]]
    torch.testing.assert_close(CausalMask()(3, CPU), torch.tensor(expected))


def test_single_token_attends_to_itself():
    torch.testing.assert_close(CausalMask()(1, CPU), torch.tensor([[True]]))


def test_shorter_text_after_a_longer_one_gets_its_own_corner():
    mask = CausalMask()
    long, short = mask(11, CPU), mask(5, CPU)
    torch.testing.assert_close(short, long[:5, :5])
    torch.testing.assert_close(mask(11, CPU), torch.ones(11, 11).tril().bool())


def test_masks_of_a_window_share_one_square():
    # Each layer kept a square of its own: 30 layers at 8,192 tokens were 2 GB.
    first, second = CausalMask()(7, CPU), CausalMask()(5, CPU)
    assert first.data_ptr() == second.data_ptr()
    assert CausalMask(window=9)(7, CPU).data_ptr() == first.data_ptr()  # leaves nothing out
    torch.testing.assert_close(CausalMask(window=2)(7, CPU), first.triu(-1))
    torch.testing.assert_close(CausalMask(window=3)(7, CPU), first.triu(-2))
    torch.testing.assert_close(CausalMask(window=2)(5, CPU), second.triu(-1))


def test_square_of_a_tracer_is_not_shared():
    SQUARES.pop((2, CPU), None)
    with FakeTensorMode():
        CausalMask(window=2)(5, CPU)
    assert (2, CPU) not in SQUARES


def test_part_of_a_mask_is_its_cut():
    queries, keys = torch.arange(5, 9), torch.arange(2, 9)
    for window in (None, 1, 3, 20):
        torch.testing.assert_close(
            reach(queries, keys, window), CausalMask(window)(11, CPU)[5:9, 2:9]
        )


def test_mask_is_made_where_the_scores_are():
    mask = CausalMask()
    mask(5, CPU)
    assert mask(5, torch.device("meta")).device.type == "meta"


def test_mask_is_no_part_of_a_checkpoint():
    mask = CausalMask()
    mask(5, CPU)
    assert not mask.state_dict()


def test_mask_made_in_inference_mode_can_be_used_in_training():
    mask = CausalMask()
    with torch.inference_mode():
        mask(3, CPU)
    scores = torch.zeros(3, 3, requires_grad=True)
    scores.masked_fill(~mask(3, CPU), 1.0).sum().backward()
    torch.testing.assert_close(scores.grad, torch.ones(3, 3).tril())
