import pytest
import torch

from attention.errors import ConfigError
from attention.training.initialise import STD, initialise, restart_head
from tests.builders import model_config, small_model


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def model():
    return small_model(model_config(qkv_bias=True))


def test_what_writes_to_the_stream_begins_smaller(model):
    initialise(model, generator())
    block = model.blocks[0]
    shrink = (2 * model.config.num_layers) ** -0.5
    assert block.attn.W_query.weight.std().item() == pytest.approx(STD, rel=0.2)
    assert block.attn.out_proj.weight.std().item() == pytest.approx(STD * shrink, rel=0.2)
    assert block.attn.W_query.bias.abs().max() == 0


def test_one_head_begins_anew_and_adds_nothing_at_first(model):
    before = model.head_weights(1)
    kept = {name: part.clone() for name, part in before.parts().items() if part is not None}
    parameters = list(model.parameters())
    restart_head(model, 1, 2, generator())
    after = model.head_weights(1)
    assert after.W_O[2].abs().max() == 0
    assert after.b_Q[2].abs().max() == 0
    assert after.W_Q[2].std().item() == pytest.approx(STD, rel=0.5)
    others = [head for head in range(model.config.num_heads) if head != 2]
    for name, part in after.parts().items():
        if name == "b_O":
            torch.testing.assert_close(part, kept[name], rtol=0, atol=0)
        else:
            torch.testing.assert_close(part[others], kept[name][others], rtol=0, atol=0)
    # An optimizer that holds the parameters goes on with them.
    assert all(a is b for a, b in zip(parameters, model.parameters(), strict=True))


def test_other_layers_stay_as_they_are(model):
    before = model.head_weights(0).W_Q.clone()
    restart_head(model, 1, 2, generator())
    torch.testing.assert_close(model.head_weights(0).W_Q, before, rtol=0, atol=0)


def test_a_head_that_does_not_exist_is_refused(model):
    with pytest.raises(ConfigError, match="head must be"):
        restart_head(model, 0, 99, generator())


def test_heads_that_share_their_keys_do_not_begin_anew():
    shared = small_model(model_config(num_heads=9, num_kv_heads=3))
    with pytest.raises(ConfigError, match="restarted must name heads with keys of their own"):
        restart_head(shared, 0, 2, generator())
