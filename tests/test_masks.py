import torch

from attention.masks import CausalMask

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
    assert mask.allowed.shape == (11, 11)  # what was made is kept


def test_mask_follows_the_module_to_another_device():
    mask = CausalMask()
    mask(5, CPU)
    assert mask.to("meta").allowed.device.type == "meta"


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
