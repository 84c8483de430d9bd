"""Every implementation learns the same: equal gradients, and equal steps of a language model."""

from dataclasses import replace
from functools import cache

import pytest
import torch
from torch.nn import functional

from attention.config import AttentionConfig
from attention.implementations import IMPLEMENTATIONS, build_attention
from attention.rotary import Rotary
from attention.weights import HeadWeights
from tests.builders import model_config, small_model
from tests.implementations.contract import TRAINED, build, sequence, sequence_for

# head_dim 10, an even number, so that rotary positions fit.
SHAPES = {
    "MHA": AttentionConfig.total(7, 30, 3, 13, qkv_bias=True),
    "GQA": AttentionConfig.total(7, 90, 9, 13, num_kv_heads=3, qkv_bias=True),
    "MQA, no biases": AttentionConfig.total(7, 30, 3, 13, num_kv_heads=1, out_bias=False),
    "as wide as x": AttentionConfig.total(15, 15, 3, 13, qkv_bias=True),
    "as wide as x, output bias": AttentionConfig.total(15, 15, 3, 13),
    "window": replace(AttentionConfig.total(7, 30, 3, 13), window=4),
    "soft cap, scale": replace(AttentionConfig.total(7, 30, 3, 13), soft_cap=2.0, fixed_scale=0.7),
}
MODELS = {
    "MHA": model_config(qkv_bias=True),
    "GQA": model_config(num_heads=9, num_kv_heads=3),
}
CASES = [
    pytest.param(
        name, shape, rotary, id=f"{name}, {shape}, {'rotary' if rotary else 'no positions'}"
    )
    for name in TRAINED
    for shape, config in SHAPES.items()
    for rotary in ([False] if config.head_dim % 2 else [False, True])
    if IMPLEMENTATIONS[name].supports(config, rotary=rotary)
]
IDS = torch.tensor([[0, 7, 1, 2, 3, 1, 2, 3, 97, 53, 11], [0, 5, 5, 8, 13, 21, 34, 55, 89, 2, 1]])


def gradients_of(module):
    """Of every parameter, head by head whatever the layout: a part of HeadWeights each."""
    kept = module.get_submodule(module.kept_in)
    named = kept.named_parameters(remove_duplicate=False)  # heads may share a projection
    grads = {name: parameter.grad for name, parameter in named}
    return HeadWeights.from_state_dict(grads, module.layout, module.config).parts()


def backward(name, config, rotary):
    """Gradients of a weighted sum of the output, by part and for x."""
    module = build(name, config).train()
    x = sequence_for(module, batch=2).requires_grad_()
    turn = Rotary(config.head_dim, config.context_length).to(torch.float64) if rotary else None
    out = module(x, rotary=turn)
    weights = torch.randn(out.shape, generator=torch.Generator().manual_seed(22)).double()
    (out * weights).sum().backward()
    return {"x": x.grad, **gradients_of(module)}


@cache
def specification(shape, rotary):
    return backward("reference", SHAPES[shape], rotary)


@pytest.mark.parametrize(("name", "shape", "rotary"), CASES)
def test_gradients_equal_those_of_the_reference(name, shape, rotary):
    found, expected = backward(name, SHAPES[shape], rotary), specification(shape, rotary)
    assert found.keys() == expected.keys()
    for part, gradient in expected.items():
        if gradient is None:
            assert found[part] is None
            continue
        assert gradient.abs().max() > 1e-3 or (part == "b_K" and not rotary), part
        # A bias of k moves all scores of a row alike, so without positions its gradient is 0
        # but for rounding: hence the absolute tolerance.
        torch.testing.assert_close(found[part], gradient, rtol=1e-7, atol=1e-10)


def test_reference_gradient_is_the_slope(full_config):
    # The others are held to the reference; this holds the reference to the definition.
    module, x = build("reference", full_config), sequence().requires_grad_()
    assert torch.autograd.gradcheck(module, (x[:, :3],), eps=1e-6, atol=1e-6)


# ------------------------------------------------------------------ a language model


LEARNERS = [
    name
    for name in TRAINED
    if name != "reference"
    and all(IMPLEMENTATIONS[name].supports(m.attention, rotary=True) for m in MODELS.values())
]


def trainable(config, name):
    """A small model whose own heads are computed by `name`: its parameters are in that layout."""
    model = small_model(config).to(torch.float64)
    for layer, block in enumerate(model.blocks):
        weights = model.head_weights(layer)
        block.attn = build_attention(name, config.attention, weights, dtype=torch.float64)
    return model.train()


def loss_of(model):
    logits = model(IDS[:, :-1])
    return functional.cross_entropy(logits.flatten(0, 1), IDS[:, 1:].flatten())


def one_step(config, name):
    """Losses before and after a step, the gradients' norm, and all weights afterwards."""
    model = trainable(config, name)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.1)
    before = loss_of(model)
    before.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    heads = [model.head_weights(layer).parts() for layer in range(config.num_layers)]
    rest = {key: value for key, value in model.state_dict().items() if ".attn." not in key}
    return {"before": before, "norm": norm, "after": loss_of(model), "heads": heads, "rest": rest}


@cache
def step_of_the_reference(shape):
    return one_step(MODELS[shape], "reference")


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("shape", MODELS)
def test_a_step_of_a_language_model_is_the_same(name, shape):
    found, expected = one_step(MODELS[shape], name), step_of_the_reference(shape)
    assert expected["after"] < expected["before"] - 0.01  # it learned
    for key in ("before", "norm", "after", "rest"):
        torch.testing.assert_close(found[key], expected[key])
    for mine, reference in zip(found["heads"], expected["heads"], strict=True):
        for part, tensor in reference.items():
            if tensor is None:
                assert mine[part] is None
            else:
                torch.testing.assert_close(mine[part], tensor)
