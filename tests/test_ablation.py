import numpy as np
import pytest
import torch

from attention.ablation import heads_by_layer
from attention.errors import ConfigError


def heads(ablate):
    return heads_by_layer(ablate, num_layers=2, num_heads=3)


def test_heads_of_a_layer_come_together():
    assert heads([(1, 0), (1, 2), (1, 0)]) == {1: {0, 2}}
    assert heads([]) == {}


@pytest.mark.usefixtures("as_in_use")
def test_numbers_of_other_libraries_are_plain_numbers():
    # Two tensors of one layer were two keys: only the last of its heads was knocked out.
    assert heads(torch.tensor([[1, 0], [1, 2]])) == {1: {0, 2}}
    assert heads([(np.int64(0), np.int64(1))]) == {0: {1}}


@pytest.mark.usefixtures("as_in_use")
@pytest.mark.parametrize("ablate", [None, "0.1", (0, 1), [(0, 1, 2)], [3]])
def test_what_is_no_pair_is_refused(ablate):
    with pytest.raises(ConfigError, match=r"ablate must hold \(layer, head\) pairs; got "):
        heads(ablate)


@pytest.mark.usefixtures("as_in_use")
@pytest.mark.parametrize("pair", [(0, 0.5), (0.0, 1), ("0", "1"), (True, 0), (0, 3), (-1, 0)])
def test_head_that_does_not_exist_is_refused(pair):
    # Head 0.5 was taken for head 0 without a word.
    with pytest.raises(ConfigError, match=r"(layer must be 0 to 1|head must be 0 to 2); got "):
        heads([pair])
