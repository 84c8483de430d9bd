import pytest
import torch

from attention.errors import ConfigError
from attention.weights import HeadWeights


def test_names_one_module_a_head(weights):
    state = weights.to_state_dict("looped")
    torch.testing.assert_close(state["heads.7.W_query.weight"], weights.W_Q[7].T)
    torch.testing.assert_close(state["heads.7.W_key.weight"], weights.W_K[2].T)  # 7 // 3
    torch.testing.assert_close(state["heads.5.W_value.bias"], weights.b_V[1])


def test_heads_that_share_a_kv_head_must_agree(weights, config):
    state = weights.to_state_dict("looped")
    state["heads.4.W_key.weight"] = state["heads.4.W_key.weight"] + 1
    with pytest.raises(ConfigError, match="heads 3 and 4 differ"):
        HeadWeights.from_state_dict(state, "looped", config)
