"""The layers of a model by name, and what follows when its weights change."""

import pytest
import torch

from attention.errors import ConfigError
from tests.builders import model_config, small_model, ways

IDS = (7, 1, 2, 3, 1, 2, 3, 97, 53, 11, 5)
FAST = [name for name in ways() if name != "reference"]
TRAINED = [name for name in ways(trained=True) if name != "reference"]


@pytest.fixture(scope="module")
def model():
    return small_model()


# ------------------------------------------------------------------ layers by name


@pytest.mark.parametrize("name", FAST)
@pytest.mark.parametrize("num_heads", [1, 4, 9])
def test_first_heads_alone_are_the_layer_without_the_others(name, num_heads):
    model = small_model(model_config(num_heads=9, num_kv_heads=3)).to(torch.float64)
    ids = torch.tensor([IDS])
    others = [(layer, head) for layer in range(2) for head in range(num_heads, 9)]
    with torch.no_grad():
        narrow = model(ids, attention=model.attention_layers(name, num_heads=num_heads))
        without = model(ids, attention=model.attention_layers(name, ablate=others))
    torch.testing.assert_close(narrow, without)


@pytest.mark.parametrize(
    ("num_heads", "message"), [(0, "at least 1; got 0"), (4, "at most 3; got 4")]
)
def test_head_count_that_the_model_does_not_have_is_refused(model, num_heads, message):
    with pytest.raises(ConfigError, match=message):
        model.attention_layers("looped", num_heads=num_heads)


def test_unknown_implementation_is_refused_with_the_choices(model):
    with pytest.raises(ConfigError, match="implementation must be one of reference, looped"):
        model.run(IDS, implementation="flash")


def test_no_layers_are_not_the_models_own(model):
    # An empty list was once read as "the model's own".
    with pytest.raises(ValueError, match="zip"):
        model(torch.tensor([IDS]), attention=[])


@pytest.mark.parametrize("name", TRAINED)
def test_layers_built_in_a_run_can_be_trained_through(name):
    # Tensors made in inference mode cannot be saved for backward.
    model = small_model()
    model.run(IDS, implementation=name)
    resid = model.embed(torch.tensor([IDS]))
    out = model.attention_layers(name)[0](resid, rotary=model.rotary(0))
    out.sum().backward()
    assert model.embed.weight.grad is not None


@pytest.mark.parametrize("name", FAST)
def test_layers_follow_new_weights(name):
    # The fused and the looped layers are copies, which once kept the old weights.
    model, other = small_model(), small_model(seed=3)
    model.run(IDS, implementation=name)
    model.load_state_dict(other.state_dict())
    torch.testing.assert_close(model.run(IDS, implementation=name).logits, other.run(IDS).logits)


@pytest.mark.parametrize("name", FAST)
def test_layers_follow_training(name):
    model = small_model()
    model.run(IDS, implementation=name)
    model.train()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(0.5)
    model.eval()
    expected = model.run(IDS, implementation="batched").logits
    torch.testing.assert_close(model.run(IDS, implementation=name).logits, expected)


def test_layers_follow_to_another_dtype():
    model = small_model()
    model.run(IDS, implementation="fused")
    model.to(torch.float64)
    assert model.dtype == torch.float64
    assert model.attention_layers("fused")[0].W_qkv.weight.dtype == torch.float64


def test_gradients_reach_every_parameter():
    model = small_model()
    model(torch.tensor([IDS])).logsumexp(dim=-1).sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


# ------------------------------------------------------------------ what the layers show


def test_watching_shows_each_layer_once_with_its_pattern(model):
    seen = []
    with torch.no_grad():
        ids = torch.tensor([IDS])
        model(ids, watch=seen.append, need_pattern=True)
        plain = []
        model(ids, watch=plain.append)
    assert [layer.pattern.shape for layer in seen] == [(1, 3, 11, 11)] * 2
    assert [layer.pattern for layer in plain] == [None, None]
    torch.testing.assert_close(seen[1].qkv.k, plain[1].qkv.k)


@pytest.mark.parametrize("name", FAST)
def test_weights_changed_in_place_are_those_that_run(name):
    # The fused matrix is a copy: a run after the change went on with the old numbers.
    model = small_model()
    before = model.run(IDS, implementation=name).logits
    with torch.no_grad():
        for parameter in model.blocks.parameters():
            parameter.mul_(1.5)
    after = model.run(IDS, implementation=name).logits
    assert not torch.equal(before, after)
    torch.testing.assert_close(after, model.run(IDS, implementation="reference").logits)


@pytest.mark.parametrize("layer", [-1, 2])
def test_weights_of_a_layer_that_does_not_exist_are_refused(model, layer):
    with pytest.raises(ConfigError, match=f"layer must be 0 to 1; got {layer}"):
        model.head_weights(layer)
