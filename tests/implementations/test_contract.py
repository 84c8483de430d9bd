"""What every implementation in the table keeps to."""

import dataclasses
import math
from functools import cache

import pytest
import torch

from attention.config import AttentionConfig
from attention.errors import ConfigError, TextError
from attention.implementations import IMPLEMENTATIONS, build_attention
from attention.implementations.base import AttentionModule, Observation
from attention.layouts import LAYOUTS
from attention.rotary import Rotary
from attention.weights import HeadWeights

TOTAL = AttentionConfig.total(7, 15, 3, 13, out_bias=False)
CONFIGS = {
    "total": TOTAL,
    "per head": AttentionConfig.per_head(7, 5, 3, 13),
    "per head, out_proj": AttentionConfig.per_head(7, 5, 3, 13, out_proj=True),
    "every bias": AttentionConfig.total(7, 15, 3, 13, qkv_bias=True),
    "one head": AttentionConfig.total(7, 5, 1, 13),
    "9 heads on 3 kv heads": AttentionConfig.total(7, 45, 9, 13, num_kv_heads=3, qkv_bias=True),
    "other width out": AttentionConfig(
        d_in=7, num_heads=3, head_dim=5, context_length=13, num_kv_heads=3, d_model=11
    ),
}
NAMES = list(IMPLEMENTATIONS)
WITH_PATTERN = [name for name, entry in IMPLEMENTATIONS.items() if entry.has_pattern]


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


@pytest.fixture(params=CONFIGS.values(), ids=CONFIGS)
def config(request):
    return request.param


@pytest.fixture(params=["every bias", "9 heads on 3 kv heads"])
def full_config(request):
    """A config with every part, where the sizes make no difference."""
    return CONFIGS[request.param]


def build(name, config=TOTAL, *, dtype=torch.float64, seed=20):
    weights = HeadWeights.init(config, generator=torch.Generator().manual_seed(seed))
    # Three times as large as a linear layer begins, so that the patterns are far from uniform.
    return build_attention(name, config, weights.map(lambda t: 3 * t), dtype=dtype)


def sequence(seq_len=11, batch=1, d_in=7, dtype=torch.float64, seed=21):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, seq_len, d_in, generator=generator).to(dtype)


def with_pattern(module, x):
    out, pattern = module(x, need_pattern=True)
    return out, pattern


@cache
def specification(config, seq_len=11, batch=1):
    """What the reference says in float64 (it is slow)."""
    return with_pattern(build("reference", config), sequence(seq_len, batch))


# ------------------------------------------------------------------ the numbers


def test_equals_the_reference(name, config):
    out, pattern = with_pattern(build(name, config), sequence(batch=2))
    expected_out, expected_pattern = specification(config, batch=2)
    torch.testing.assert_close(out, expected_out)
    assert out.shape == (2, 11, config.d_model)
    if IMPLEMENTATIONS[name].has_pattern:
        torch.testing.assert_close(pattern, expected_pattern)
        assert pattern.shape == (2, config.num_heads, 11, 11)
    else:
        assert pattern is None


def test_equals_the_reference_with_rotary_positions(name):
    config = AttentionConfig.total(7, 30, 3, 13, num_kv_heads=1)
    rotary = Rotary(10, 13).to(torch.float64)
    x = sequence()
    torch.testing.assert_close(
        build(name, config)(x, rotary=rotary), build("reference", config)(x, rotary=rotary)
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_narrower_dtypes_are_near_the_reference_in_float64(name, config, dtype):
    out, pattern = with_pattern(build(name, config, dtype=dtype), sequence(dtype=dtype))
    expected_out, expected_pattern = specification(config)
    assert out.dtype == dtype
    # Weights, x, q, k, v, pattern, z and output are each rounded once, by half a step of the
    # dtype; the errors found are up to 3 steps of the largest value.
    steps = 6 * torch.finfo(dtype).eps
    largest = expected_out.abs().max().item()
    torch.testing.assert_close(out.double(), expected_out, rtol=0, atol=steps * largest)
    if pattern is not None:
        torch.testing.assert_close(pattern.double(), expected_pattern, rtol=0, atol=steps)


@pytest.mark.parametrize("name", WITH_PATTERN)
def test_pattern_worked_by_hand(name):
    # One head, features 1 wide, q = x, k = x, v = x: row 1 of x = (1, 2) is softmax(2, 4).
    config = AttentionConfig.total(1, 1, 1, 5, out_proj=False)
    one = torch.ones(1, 1, 1)
    module = build_attention(name, config, HeadWeights(W_Q=one, W_K=one, W_V=one))
    out, pattern = with_pattern(module, torch.tensor([[[1.0], [2.0]]]))
    late = 1 / (1 + math.exp(-2))
    torch.testing.assert_close(pattern, torch.tensor([[[[1.0, 0.0], [1 - late, late]]]]))
    torch.testing.assert_close(out, torch.tensor([[[1.0], [(1 - late) + 2 * late]]]))


# ------------------------------------------------------------------ causality


@pytest.mark.parametrize("name", WITH_PATTERN)
def test_pattern_is_exactly_zero_above_the_diagonal(name, config):
    _, pattern = with_pattern(build(name, config, dtype=torch.float32), sequence().float())
    assert torch.count_nonzero(pattern.triu(1)) == 0


@pytest.mark.parametrize("name", WITH_PATTERN)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_rows_sum_to_1(name, config, dtype):
    _, pattern = with_pattern(build(name, config, dtype=dtype), sequence(dtype=dtype))
    torch.testing.assert_close(pattern.sum(dim=-1), torch.ones_like(pattern[..., 0]))


def test_changing_a_later_token_moves_nothing_before_it(name, full_config):
    # A mask given to SDPA the wrong way round sees the future, and nothing complains.
    module, x = build(name, full_config), sequence()
    changed = x.clone()
    changed[:, 7] += 1.0
    before, after = module(x), module(changed)
    torch.testing.assert_close(after[:, :7], before[:, :7], rtol=0, atol=1e-12)
    assert (after[:, 7] - before[:, 7]).abs().max() > 0.01


def test_single_token_attends_to_itself(name, full_config):
    x = sequence(seq_len=1)
    out, pattern = with_pattern(build(name, full_config), x)
    torch.testing.assert_close(out, specification(full_config, seq_len=1)[0])
    if pattern is not None:
        torch.testing.assert_close(pattern, torch.ones_like(pattern))


def test_whole_context_is_allowed(name):
    assert build(name)(sequence(seq_len=13)).shape == (1, 13, 15)


def test_texts_of_a_batch_do_not_see_each_other(name, full_config):
    module, x = build(name, full_config), sequence(batch=3)
    alone = torch.cat([module(x[i : i + 1]) for i in range(3)])
    torch.testing.assert_close(module(x), alone)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_large_scores_stay_finite_in_narrow_dtypes(name, dtype):
    # q·k before the scale overflows float16: 16 features of 100 make 160,000 of at most 65,504.
    config = AttentionConfig.total(16, 16, 1, 13, out_proj=False)
    eye = torch.eye(16)[None]
    module = build_attention(name, config, HeadWeights(W_Q=eye, W_K=eye, W_V=eye), dtype=dtype)
    out = module(torch.full((1, 11, 16), 100.0, dtype=dtype))
    torch.testing.assert_close(out, torch.full((1, 11, 16), 100.0, dtype=dtype))


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
