"""The makes of model that the embedded one is not."""

import dataclasses

import pytest
import torch

from attention import blocks
from attention.errors import ConfigError
from attention.model_config import ACTIVATIONS, LayerRule
from attention.rotary import PLAIN_ROPE, Rope
from tests.builders import model_config, small_model

IDS = (7, 1, 2, 3, 1, 2, 3, 97, 53, 11, 5)
BASE = model_config(num_heads=9, num_kv_heads=3)
LOCAL = LayerRule(rope=Rope(theta=100.0, rotary_dim=6), window=4, fixed_scale=0.4)
MAKES = {
    "learned positions, LayerNorm, untied": {
        "rope": None,
        "positions": 63,
        "position_offset": 2,
        "norm": "layer",
        "activation": "gelu_tanh",
        "gated": False,
        "mlp_bias": True,
        "tied": False,
        "unembed_bias": True,
    },
    "parallel": {"residual": "parallel", "norm": "layer", "norm_bias": False, "gated": False},
    "one norm for both": {"residual": "shared", "activation": "gelu"},
    "normed after adding, embeddings of another width, no last norm": {
        "residual": "post",
        "embed_dim": 19,
        "final_norm": False,
        "norm": "layer",
        "norm_weight": False,
    },
    "local and global": {
        "layers": (LOCAL, LayerRule(rope=PLAIN_ROPE)),
        "qk_norm": True,
        "post_norms": True,
        "embed_scale": 3.9,
        "logit_cap": 5.0,
    },
    "nothing turned in the second layer": {"layers": (LOCAL, LayerRule())},
}


@pytest.fixture(params=MAKES)
def model(request):
    return small_model(dataclasses.replace(BASE, **MAKES[request.param])).double()


@pytest.mark.parametrize("name", ["looped", "fused", "grouped", "vmap", "einsum", "capture"])
def test_every_way_to_run_the_heads_gives_the_same_logits(model, name):
    expected = model.run(IDS, implementation="batched").logits
    torch.testing.assert_close(model.run(IDS, implementation=name).logits, expected)
    torch.testing.assert_close(model.run(IDS).logits, expected)


def test_text_written_with_a_cache_is_the_one_without(model):
    whole = model.run(model.generate(IDS, 9)).logits
    written = model.generate(IDS, 9).ids[len(IDS) :]
    assert tuple(whole.argmax(dim=-1)[len(IDS) - 1 : -1].tolist()) == written


def test_the_mlp_of_a_long_text_is_run_some_positions_at_a_time(model, monkeypatch):
    expected = model.run(IDS).logits
    monkeypatch.setattr(blocks, "MLP_AT_ONCE", 4)
    lengths = []
    for block in model.blocks:
        block.mlp.register_forward_pre_hook(lambda _, given: lengths.append(given[0].shape[1]))
    torch.testing.assert_close(model.run(IDS).logits, expected)
    assert lengths == [4, 4, 3] * len(model.blocks)


def test_a_cap_keeps_logits_within_it_and_their_order():
    config = dataclasses.replace(BASE, logit_cap=5.0)
    plain, capped = small_model(BASE).run(IDS).logits, small_model(config).run(IDS).logits
    torch.testing.assert_close(capped, 5 * (plain / 5).tanh())


def test_a_model_that_the_kernel_cannot_run_takes_another_way_by_itself():
    attention = dataclasses.replace(BASE.attention, soft_cap=2.0)
    model = small_model(dataclasses.replace(BASE, attention=attention))
    assert model.fastest == "batched"
    assert model.run(IDS).implementation == "batched"
    with pytest.raises(ConfigError, match="soft_cap must be None"):
        model.run(IDS, implementation="sdpa")


def test_layers_that_turn_alike_share_the_angles():
    model = small_model(dataclasses.replace(BASE, layers=(LOCAL, LOCAL)))
    assert len(model.rotaries) == 1
    assert model.rotary(0) is model.rotary(1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"layers": (LOCAL,)}, "one rule for each of 2 layers; got 1"),
        ({"positions": 61, "position_offset": 2}, "positions must be at least 63"),
        ({"activation": "tanh"}, "activation must be one of silu, gelu"),
        ({"norm": "batch"}, "norm must be one of rms, layer"),
        ({"residual": "none"}, "residual must be one of sequential"),
        ({"rope": Rope(rotary_dim=12)}, "rotary_dim must be even .* at most head_dim 10; got 12"),
        ({"embed_dim": 0}, "embed_dim must be a whole number of at least 1; got 0"),
        ({"logit_cap": 0.0}, "logit_cap must be a number above 0; got 0.0"),
    ],
)
@pytest.mark.usefixtures("as_in_use")
def test_what_does_not_fit_is_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        dataclasses.replace(BASE, **changes)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_activation_is_the_identity_at_zero_and_grows(name):
    x = torch.tensor([0.0, 1.0, 2.0])
    y = ACTIVATIONS[name](x)
    assert y[0] == 0
    assert y[0] < y[1] < y[2]
