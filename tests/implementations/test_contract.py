"""What every implementation in the table computes."""

import math

import pytest
import torch

from attention.config import AttentionConfig
from attention.implementations import IMPLEMENTATIONS, build_attention
from attention.rotary import Rotary
from attention.weights import HeadWeights
from tests.implementations.contract import (
    NAMES,
    WITH_PATTERN,
    build,
    cases,
    full_cases,
    sequence_for,
    specification,
    with_pattern,
)

EVERY = pytest.mark.parametrize(("name", "config"), cases(NAMES))
EVERY_PATTERN = pytest.mark.parametrize(("name", "config"), cases(WITH_PATTERN))
EVERY_FULL = pytest.mark.parametrize(("name", "config"), full_cases(NAMES))
ROTARY = AttentionConfig.total(7, 30, 3, 13, num_kv_heads=1)

# ------------------------------------------------------------------ the numbers


@EVERY
def test_equals_the_reference(name, config):
    module = build(name, config)
    out, pattern = with_pattern(module, sequence_for(module, batch=2))
    expected_out, expected_pattern = specification(config, batch=2)
    torch.testing.assert_close(out, expected_out)
    assert out.shape == (2, 11, config.d_model)
    if IMPLEMENTATIONS[name].has_pattern:
        torch.testing.assert_close(pattern, expected_pattern)
        assert pattern.shape == (2, config.num_heads, 11, 11)
    else:
        assert pattern is None


@pytest.mark.parametrize(
    "name", [name for name in NAMES if IMPLEMENTATIONS[name].supports(ROTARY, rotary=True)]
)
def test_equals_the_reference_with_rotary_positions(name):
    module, rotary = build(name, ROTARY), Rotary(10, 13).to(torch.float64)
    x = sequence_for(module)
    torch.testing.assert_close(
        module(x, rotary=rotary), build("reference", ROTARY)(x, rotary=rotary)
    )


@EVERY
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_narrower_dtypes_are_near_the_reference_in_float64(name, config, dtype):
    module = build(name, config, dtype=dtype)
    out, pattern = with_pattern(module, sequence_for(module, dtype=dtype))
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
    config = AttentionConfig.total(1, 1, 1, 5, out_bias=False)
    one = torch.ones(1, 1, 1)
    module = build_attention(name, config, HeadWeights(W_Q=one, W_K=one, W_V=one, W_O=one))
    out, pattern = with_pattern(module, torch.tensor([[[1.0], [2.0]]]))
    late = 1 / (1 + math.exp(-2))
    torch.testing.assert_close(pattern, torch.tensor([[[[1.0, 0.0], [1 - late, late]]]]))
    torch.testing.assert_close(out, torch.tensor([[[1.0], [(1 - late) + 2 * late]]]))


# ------------------------------------------------------------------ causality


@EVERY_PATTERN
def test_pattern_is_exactly_zero_above_the_diagonal(name, config):
    module = build(name, config, dtype=torch.float32)
    _, pattern = with_pattern(module, sequence_for(module, dtype=torch.float32))
    assert torch.count_nonzero(pattern.triu(1)) == 0


@EVERY_PATTERN
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_rows_sum_to_1(name, config, dtype):
    module = build(name, config, dtype=dtype)
    _, pattern = with_pattern(module, sequence_for(module, dtype=dtype))
    torch.testing.assert_close(pattern.sum(dim=-1), torch.ones_like(pattern[..., 0]))


@EVERY_FULL
def test_changing_a_later_token_moves_nothing_before_it(name, config):
    # A mask given to SDPA the wrong way round sees the future, and nothing complains.
    module = build(name, config)
    x = sequence_for(module)
    changed = x.clone()
    changed[:, 7] += 1.0
    before, after = module(x), module(changed)
    torch.testing.assert_close(after[:, :7], before[:, :7], rtol=0, atol=1e-12)
    assert (after[:, 7] - before[:, 7]).abs().max() > 0.01


@EVERY_FULL
def test_single_token_attends_to_itself(name, config):
    module = build(name, config)
    out, pattern = with_pattern(module, sequence_for(module, seq_len=1))
    torch.testing.assert_close(out, specification(config, seq_len=1)[0])
    if pattern is not None:
        torch.testing.assert_close(pattern, torch.ones_like(pattern))


def test_whole_context_is_allowed(name):
    module = build(name)
    assert module(sequence_for(module, seq_len=13)).shape == (1, 13, 15)


@EVERY_FULL
def test_texts_of_a_batch_do_not_see_each_other(name, config):
    module = build(name, config)
    x = sequence_for(module, batch=3)
    alone = torch.cat([module(x[i : i + 1]) for i in range(3)])
    torch.testing.assert_close(module(x), alone)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_large_scores_stay_finite_in_narrow_dtypes(name, dtype):
    # q·k before the scale overflows float16: 16 features of 100 make 160,000 of at most 65,504.
    config = AttentionConfig.total(16, 16, 1, 13, out_bias=False)
    eye = torch.eye(16)[None]
    weights = HeadWeights(W_Q=eye, W_K=eye, W_V=eye, W_O=eye)
    module = build_attention(name, config, weights, dtype=dtype)
    out = module(torch.full((1, 11, 16), 100.0, dtype=dtype))
    torch.testing.assert_close(out, torch.full((1, 11, 16), 100.0, dtype=dtype))
