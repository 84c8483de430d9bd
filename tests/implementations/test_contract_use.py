"""How every implementation in the table behaves when it is used."""

import dataclasses

import pytest
import torch

from attention.errors import ConfigError, DeviceError, TextError
from attention.implementations import IMPLEMENTATIONS, build_attention
from attention.implementations.base import AttentionModule, Observation
from attention.layouts import LAYOUTS
from attention.weights import HeadWeights
from tests.implementations.contract import (
    CONFIGS,
    NAMES,
    TOTAL,
    build,
    sequence,
    specification,
    with_pattern,
)

# ------------------------------------------------------------------ modes and devices


def test_dropout_is_inactive_in_eval_mode(name):
    # SDPA's own dropout argument ignores eval().
    config = dataclasses.replace(TOTAL, dropout=0.5)
    module, x = build(name, config), sequence()
    assert not module.training
    torch.testing.assert_close(module(x), specification(TOTAL)[0])
    torch.testing.assert_close(module(x), module(x), rtol=0, atol=0)


def test_asking_for_the_pattern_does_not_change_the_output(name, full_config):
    module, x = build(name, full_config), sequence()
    torch.testing.assert_close(module(x), with_pattern(module, x)[0], rtol=0, atol=0)


def test_parameters_and_buffers_follow_to_another_device(name, full_config):
    module = build(name, full_config)
    module(sequence())  # which makes the mask
    module.to("meta")
    tensors = [*module.parameters(), *module.buffers()]
    assert {tensor.device.type for tensor in tensors} == {"meta"}
    assert build(name).to(torch.float32)(sequence().float()).dtype == torch.float32


def test_output_can_be_trained_through(name):
    module, x = build(name), sequence().requires_grad_()
    module(x).sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()
    assert all(parameter.grad is not None for parameter in module.parameters())


def test_input_and_weights_stay_what_they_were(name, full_config):
    module, x = build(name, full_config), sequence()
    state = {key: tensor.clone() for key, tensor in module.state_dict().items()}
    kept = x.clone()
    module(x)
    torch.testing.assert_close(x, kept, rtol=0, atol=0)
    torch.testing.assert_close(module.state_dict(), state, rtol=0, atol=0)


# ------------------------------------------------------------------ weights and observations


def test_gives_its_head_weights_back_exactly(name, config, generator):
    weights = HeadWeights.init(config, generator=generator)
    back = build_attention(name, config, weights).head_weights()
    for part, tensor in weights.parts().items():
        torch.testing.assert_close(back.parts()[part], tensor, rtol=0, atol=0)


def test_shows_q_k_and_v_of_its_own_heads(name):
    # Head h uses kv head h // 3: paired wrongly, the output is wrong in silence.
    config = CONFIGS["9 heads on 3 kv heads"]
    weights = HeadWeights.init(config, generator=torch.Generator().manual_seed(5))
    module = build_attention(name, config, weights, dtype=torch.float64)
    weights, x, seen = weights.to("cpu", torch.float64), sequence(), []
    out = module(x, observe=seen.append)
    [observation] = seen
    assert isinstance(observation, Observation)
    for letter, heads in (("q", 9), ("k", 3), ("v", 3)):
        found = getattr(observation, letter)
        weight, bias = (weights.parts()[f"{kind}_{letter.upper()}"] for kind in "Wb")
        expected = torch.einsum("bpd,hdk->bhpk", x, weight) + bias[None, :, None, :]
        assert found.shape == (1, heads, 11, 5)
        torch.testing.assert_close(found, expected)
    torch.testing.assert_close(out, module(x), rtol=0, atol=0)


def test_knocked_out_head_adds_nothing(name):
    weights = HeadWeights.init(TOTAL, generator=torch.Generator().manual_seed(5))
    weights = weights.to("cpu", torch.float64)
    x = sequence()

    def output(kept):
        return build_attention(name, TOTAL, kept, dtype=torch.float64)(x)

    head_1_alone = output(weights.without([0, 2]))
    torch.testing.assert_close(output(weights) - output(weights.without([1])), head_1_alone)


# ------------------------------------------------------------------ bad input


def test_sequence_longer_than_the_context_is_refused_with_both_numbers(name):
    with pytest.raises(TextError, match=r"seq_len must be 1 to 13 \(context_length\); got 17"):
        build(name)(sequence(seq_len=17))


def test_empty_sequence_is_refused(name):
    with pytest.raises(TextError, match=r"seq_len must be 1 to 13 .* got 0"):
        build(name)(sequence(seq_len=0))


@pytest.mark.parametrize("shape", [(11, 7), (2, 11, 5), (2, 3, 11, 7), (7,)])
def test_input_of_another_shape_is_refused_with_both_shapes(name, shape):
    with pytest.raises(ConfigError, match=r"x must have shape \(batch, pos, d_in=7\)") as error:
        build(name)(torch.zeros(shape, dtype=torch.float64))
    assert f"got {shape}" in str(error.value)


def test_weights_of_another_config_are_refused(name, generator):
    weights = HeadWeights.init(CONFIGS["one head"], generator=generator)
    with pytest.raises(ConfigError, match="num_heads of the weights must be 3; got 1"):
        build_attention(name, TOTAL, weights)


def test_unknown_name_is_refused_with_the_choices(generator):
    weights = HeadWeights.init(TOTAL, generator=generator)
    with pytest.raises(ConfigError, match="implementation must be one of reference, looped"):
        build_attention("loop", TOTAL, weights)


# ------------------------------------------------------------------ the table


def test_table_lists_each_implementation_once_with_what_a_reader_needs():
    assert [entry.name for entry in IMPLEMENTATIONS.values()] == NAMES
    for field in ("title", "summary", "module"):
        assert len({getattr(entry, field) for entry in IMPLEMENTATIONS.values()}) == len(NAMES)
    for entry in IMPLEMENTATIONS.values():
        assert issubclass(entry.module, AttentionModule)
        assert entry.module.layout in LAYOUTS
        assert entry.module.__doc__


# ------------------------------------------------------------------ what does not fit


@pytest.mark.usefixtures("as_in_use")
def test_input_in_another_dtype_is_refused_in_one_sentence(name):
    module = build(name)
    module(sequence())
    with pytest.raises(ConfigError, match=r"x must be torch\.float64 as the weights; got torch\.f"):
        module(sequence(dtype=torch.float32))
    module.float()
    with pytest.raises(ConfigError, match=r"x must be torch\.float32 as the weights; got torch\.f"):
        module(sequence())


@pytest.mark.usefixtures("as_in_use")
def test_input_on_another_device_or_of_another_kind_is_refused_in_one_sentence(name):
    module = build(name)
    with pytest.raises(ConfigError, match="x must be on cpu as the weights; got meta"):
        module(sequence().to("meta"))
    with pytest.raises(ConfigError, match="x must be a tensor; got list"):
        module([[[1.0]]])


def test_batch_without_a_sequence_has_no_output(name):
    # Half of the implementations broke down, the others did not.
    assert build(name)(sequence()[:0]).shape == (0, 11, 15)


def test_autocast_may_give_another_dtype_than_the_weights(name):
    module = build(name, dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        assert module(sequence(dtype=torch.bfloat16)).isfinite().all()


@pytest.mark.usefixtures("as_in_use")
@pytest.mark.parametrize("dtype", [torch.int32, torch.bool, torch.complex64, "float32", None])
def test_dtype_that_no_layer_is_computed_in_is_refused(dtype):
    with pytest.raises(ConfigError, match=r"dtype must be one of torch\.float64, .*; got "):
        build("looped", dtype=dtype)


def test_device_that_is_not_there_is_refused():
    weights = HeadWeights.init(TOTAL, generator=torch.Generator().manual_seed(20))
    with pytest.raises(DeviceError, match=r"device must be one of cpu, .*; got 'nope'"):
        build_attention("looped", TOTAL, weights, device="nope")
