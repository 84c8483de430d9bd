import pytest
import torch

from attention.benchmark import BenchmarkSettings
from attention.benchmark.layer import build, prepare
from attention.errors import ConfigError
from attention.implementations import build_attention


def prepared(**changes):
    values = {"heads": (3,), "d_out": 15, "d_in": 7, "seq_len": 11, "batch": 2}
    return prepare(BenchmarkSettings(passes="backward", **(values | changes)), 3)


@pytest.mark.parametrize("name", ["looped", "batched", "fused", "einsum", "vmap"])
@pytest.mark.parametrize("kv_heads", [3, 1])
def test_timed_pass_computes_every_gradient_head_by_head(name, kv_heads):
    layer = prepared(num_kv_heads=kv_heads)
    ready = layer.ready(build(layer, name))
    with torch.inference_mode():  # as the timer calls it
        value = ready.run()
    gradients = ready.read(value).gradients
    shapes = {of: tuple(gradient.shape) for of, gradient in gradients.items()}
    assert shapes == {
        "x": (2, 11, 7),
        "W_Q": (3, 7, 5),
        "W_K": (kv_heads, 7, 5),
        "W_V": (kv_heads, 7, 5),
        "W_O": (3, 5, 15),
        "b_O": (15,),
    }
    assert all(gradient.abs().max() > 1e-3 for gradient in gradients.values())


def test_exact_gradients_are_those_of_the_reference():
    layer = prepared()
    module = build_attention("reference", layer.config, layer.weights, dtype=torch.float64)
    x = layer.x.double().requires_grad_()
    (module(x) * layer.given.pull.double()).sum().backward()
    expected = {"x": x.grad, **{name: p.grad for name, p in module.named_parameters()}}
    assert layer.exact.gradients.keys() == expected.keys()
    for of, gradient in expected.items():
        torch.testing.assert_close(layer.exact.gradients[of], gradient)


def test_what_cannot_be_trained_here_is_refused():
    with pytest.raises(ConfigError, match="passes must be forward for FlexAttention on cpu"):
        build(prepared(), "flex")
