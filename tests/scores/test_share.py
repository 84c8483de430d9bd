import pytest
import torch

from attention.scores import template_share
from attention.scores.previous_token import previous_token
from tests.builders import record_of
from tests.scores.test_head_scores import WORKED


@pytest.mark.parametrize(
    ("left_out", "share"),
    [
        ({}, 1.3 / 4),
        ({"without_first": True}, 0.8 / 2.2),
        ({"without_current": True}, 1.3 / 1.75),
        ({"without_first": True, "without_current": True}, 0.8 / 0.95),
    ],
)
def test_share_of_the_previous_token_template(left_out, share):
    record = record_of(WORKED)
    before = record.pattern(0, 0).copy()
    torch.testing.assert_close(
        template_share(record, 0, previous_token, **left_out), torch.tensor([share])
    )
    # A share that leaves cells out once zeroed them in the record itself.
    torch.testing.assert_close(record.pattern(0, 0), before)


def test_share_of_a_single_token_without_itself_is_not_measured():
    share = template_share(record_of([[1.0]]), 0, previous_token, without_current=True)
    torch.testing.assert_close(share, torch.tensor([torch.nan]), equal_nan=True)
