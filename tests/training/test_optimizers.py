import pytest
import torch

from attention.errors import HeadscopeError
from attention.training.optimizers import OPTIMIZERS, Optimizers
from tests.builders import small_model


@pytest.fixture
def model():
    return small_model()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_parameter_has_one_optimizer_and_only_matrices_decay(model, name):
    groups = [g for part in OPTIMIZERS[name](model) for g in part.param_groups]
    held = [p for group in groups for p in group["params"]]
    assert len(held) == len(set(held)) == len(list(model.parameters()))
    for group in groups:
        assert group["weight_decay"] == (0.1 if group["params"][0].dim() >= 2 else 0.0)
        assert len({p.dim() >= 2 for p in group["params"]}) == 1


def test_muon_takes_the_matrices_of_the_blocks_and_nothing_else(model):
    matrices = OPTIMIZERS["muon"](model)[0].param_groups[0]["params"]
    names = {name for name, p in model.named_parameters() if any(p is m for m in matrices)}
    assert "embed.weight" not in names
    assert {name.rsplit(".", 1)[1] for name in names} == {"weight"}
    assert len(names) == 7 * model.config.num_layers


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_step_moves_every_parameter_and_the_state_goes_on(model, name):
    optimizers = Optimizers.build(name, model)
    optimizers.set_rate(1e-2)
    ids = torch.tensor([[1, 2, 3, 4]])
    before = {n: p.clone() for n, p in model.named_parameters()}
    model(ids).logsumexp(-1).sum().backward()
    optimizers.step()
    assert all(not torch.equal(before[n], p) for n, p in model.named_parameters())
    again = Optimizers.build(name, model)
    again.load_state_dict(optimizers.state_dict())
    for one, other in zip(
        optimizers.state_dict()["parts"], again.state_dict()["parts"], strict=True
    ):
        torch.testing.assert_close(one["state"], other["state"], rtol=0, atol=0)
    optimizers.zero_grad()
    assert all(p.grad is None for p in model.parameters())


def test_an_unknown_optimizer_is_refused(model):
    with pytest.raises(HeadscopeError, match=r"optimizer must be one of adamw, muon; got 'sgd'"):
        Optimizers.build("sgd", model)
