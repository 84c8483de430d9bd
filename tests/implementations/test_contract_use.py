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
    TRAINED,
    build,
    cases,
    full_cases,
    plain,
    sequence_for,
    specification,
    with_pattern,
)

EVERY_FULL = pytest.mark.parametrize(("name", "config"), full_cases(NAMES))

HUGE = dataclasses.replace(TOTAL, context_length=1 << 14)

# ------------------------------------------------------------------ modes and devices


def test_dropout_is_inactive_in_eval_mode(name):
    # SDPA's own dropout argument ignores eval().
    module = build(name, dataclasses.replace(plain(name), dropout=0.5))
    x = sequence_for(module)
    assert not module.training
    torch.testing.assert_close(module(x), specification(plain(name))[0])
    torch.testing.assert_close(module(x), module(x), rtol=0, atol=0)


@EVERY_FULL
def test_asking_for_the_pattern_does_not_change_the_output(name, config):
    module = build(name, config)
    x = sequence_for(module)
    torch.testing.assert_close(module(x), with_pattern(module, x)[0], rtol=0, atol=0)


@EVERY_FULL
def test_parameters_and_buffers_follow_to_another_device(name, config):
    module = build(name, config)
    x = sequence_for(module)
    module(x)  # which makes the mask
    module.to("meta")
    tensors = [*module.parameters(), *module.buffers()]
    assert {tensor.device.type for tensor in tensors} == {"meta"}
    assert build(name, config).to(torch.float32)(x.float()).dtype == torch.float32


@pytest.mark.parametrize("name", TRAINED)
def test_output_can_be_trained_through(name):
    module = build(name)
    x = sequence_for(module).requires_grad_()
    module(x).sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()
    assert all(parameter.grad is not None for parameter in module.parameters())


@EVERY_FULL
def test_input_and_weights_stay_what_they_were(name, config):
    module = build(name, config)
    x = sequence_for(module)
    state = {key: tensor.clone() for key, tensor in module.state_dict().items()}
    kept = x.clone()
    module(x)
    torch.testing.assert_close(x, kept, rtol=0, atol=0)
    torch.testing.assert_close(module.state_dict(), state, rtol=0, atol=0)


# ------------------------------------------------------------------ weights and observations


@pytest.mark.parametrize(("name", "config"), cases(NAMES))
def test_gives_its_head_weights_back_exactly(name, config, generator):
    weights = HeadWeights.init(config, generator=generator)
    back = build_attention(name, config, weights).head_weights()
    for part, tensor in weights.parts().items():
        torch.testing.assert_close(back.parts()[part], tensor, rtol=0, atol=0)


@EVERY_FULL
def test_shows_q_k_and_v_of_its_own_heads(name, config):
    # Head h uses kv head h // 3: paired wrongly, the output is wrong in silence.
    weights = HeadWeights.init(config, generator=torch.Generator().manual_seed(5))
    module = build_attention(name, config, weights, dtype=torch.float64)
    weights, x, seen = weights.to("cpu", torch.float64), sequence_for(module), []
    out = module(x, observe=seen.append)
    [observation] = seen
    assert isinstance(observation, Observation)
    kv_heads = config.num_kv_heads
    for letter, heads in (("q", config.num_heads), ("k", kv_heads), ("v", kv_heads)):
        found = getattr(observation, letter)
        weight, bias = (weights.parts()[f"{kind}_{letter.upper()}"] for kind in "Wb")
        expected = torch.einsum("bpd,hdk->bhpk", x, weight) + bias[None, :, None, :]
        assert found.shape == (1, heads, 11, 5)
        torch.testing.assert_close(found, expected)
    torch.testing.assert_close(out, module(x), rtol=0, atol=0)


def test_knocked_out_head_adds_nothing(name):
    config = plain(name)
    weights = HeadWeights.init(config, generator=torch.Generator().manual_seed(5))
    weights = weights.to("cpu", torch.float64)

    def output(kept):
        module = build_attention(name, config, kept, dtype=torch.float64)
        return module(sequence_for(module))

    head_1_alone = output(weights.without([0, 2]))
    torch.testing.assert_close(output(weights) - output(weights.without([1])), head_1_alone)


# ------------------------------------------------------------------ bad input


def test_sequence_longer_than_the_context_is_refused_with_both_numbers(name):
    module = build(name)
    with pytest.raises(TextError, match=r"seq_len must be 1 to 13 \(context_length\); got 17"):
        module(sequence_for(module, seq_len=17))


def test_empty_sequence_is_refused(name):
    module = build(name)
    with pytest.raises(TextError, match=r"seq_len must be 1 to 13 .* got 0"):
        module(sequence_for(module, seq_len=0))


@pytest.mark.parametrize("shape", [(11, 7), (2, 11, 5), (2, 3, 11, 7), (7,)])
def test_input_of_another_shape_is_refused_with_both_shapes(name, shape):
    module, rule = build(name), r"x must have shape \(batch, pos, d_in=(7|15)\)"
    with pytest.raises(ConfigError, match=rule) as error:
        module(torch.zeros(shape, dtype=torch.float64))
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
    assert [entry.name for entry in IMPLEMENTATIONS.values()] == list(IMPLEMENTATIONS)
    for field in ("title", "summary", "module"):
        found = {getattr(entry, field) for entry in IMPLEMENTATIONS.values()}
        assert len(found) == len(IMPLEMENTATIONS)
    for entry in IMPLEMENTATIONS.values():
        assert issubclass(entry.module, AttentionModule)
        assert entry.module.layout in LAYOUTS
        assert entry.module.__doc__


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_layer_beyond_the_limits_is_refused_in_one_sentence(name, generator):
    entry = IMPLEMENTATIONS[name]
    for layer in [*CONFIGS.values(), HUGE]:
        if not entry.supports(layer):
            weights = HeadWeights.init(layer, generator=generator)
            with pytest.raises(ConfigError, match=r"^[^\n]* must [^\n]*\.$"):
                build_attention(name, layer, weights)


@pytest.mark.parametrize("name", [name for name in IMPLEMENTATIONS if name not in NAMES])
def test_implementation_that_does_not_run_here_is_refused_with_where_it_does(name, generator):
    with pytest.raises(ConfigError, match=f"device of {name} must be .*; got cpu"):
        build_attention(name, TOTAL, HeadWeights.init(TOTAL, generator=generator))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in TRAINED])
def test_gradients_where_there_are_none_are_refused_in_one_sentence(name):
    module = build(name)
    assert not any(parameter.requires_grad for parameter in module.parameters())
    with pytest.raises(DeviceError, match=f"{name} must run without gradients on cpu; got some"):
        module(sequence_for(module).requires_grad_())


# ------------------------------------------------------------------ what does not fit


@pytest.mark.usefixtures("as_in_use")
def test_input_in_another_dtype_is_refused_in_one_sentence(name):
    module = build(name)
    x = sequence_for(module)
    module(x)
    with pytest.raises(ConfigError, match=r"x must be torch\.float64 as the weights; got torch\.f"):
        module(x.float())
    module.float()
    with pytest.raises(ConfigError, match=r"x must be torch\.float32 as the weights; got torch\.f"):
        module(x)


@pytest.mark.usefixtures("as_in_use")
def test_input_on_another_device_or_of_another_kind_is_refused_in_one_sentence(name):
    module = build(name)
    with pytest.raises(ConfigError, match="x must be on cpu as the weights; got meta"):
        module(sequence_for(module).to("meta"))
    with pytest.raises(ConfigError, match="x must be a tensor; got list"):
        module([[[1.0]]])


def test_batch_without_a_sequence_has_no_output(name):
    # Half of the implementations broke down, the others did not.
    module = build(name)
    assert module(sequence_for(module)[:0]).shape == (0, 11, 15)


def test_autocast_may_give_another_dtype_than_the_weights(name):
    module = build(name, dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        assert module(sequence_for(module, dtype=torch.bfloat16)).isfinite().all()


@pytest.mark.usefixtures("as_in_use")
@pytest.mark.parametrize("dtype", [torch.int32, torch.bool, torch.complex64, "float32", None])
def test_dtype_that_no_layer_is_computed_in_is_refused(dtype):
    with pytest.raises(ConfigError, match=r"dtype must be one of torch\.float64, .*; got "):
        build("looped", dtype=dtype)


def test_device_that_is_not_there_is_refused():
    weights = HeadWeights.init(TOTAL, generator=torch.Generator().manual_seed(20))
    with pytest.raises(DeviceError, match=r"device must be one of cpu, .*; got 'nope'"):
        build_attention("looped", TOTAL, weights, device="nope")
