from dataclasses import replace

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from attention.benchmark import BenchmarkSettings
from attention.benchmark.layer import build, prepare
from attention.benchmark.work import Sizes, work
from attention.config import AttentionConfig
from attention.implementations import IMPLEMENTATIONS, build_attention
from attention.weights import HeadWeights


def sizes(*, passes="forward", itemsize=4, **changes):
    """2 sequences of 11 tokens; 3 heads of 5 features; 7 features in and, through W_O, 15 out."""
    config = AttentionConfig.total(7, 15, 3, 11, **changes)
    return Sizes(config=config, batch=2, seq_len=11, itemsize=itemsize, passes=passes)


def found(name, **changes):
    return work(sizes(**changes), IMPLEMENTATIONS[name])


def test_flops_of_full_squares_worked_out_by_hand():
    batched = found("batched")
    assert batched.projections.flops == 2 * 22 * 7 * 45  # 22 rows, 3 × 15 columns
    assert batched.scores.flops == batched.mix.flops == 2 * 6 * 121 * 5  # 6 squares of 11 × 11
    assert batched.softmax.flops == 0
    assert batched.out.flops == 2 * 22 * 15 * 15
    assert batched.flops == 13_860 + 2 * 7_260 + 9_900 == 38_280
    assert (batched.projection_flops, batched.attention_flops) == (23_760, 14_520)


def test_flops_without_the_future_are_those_of_the_triangle():
    sdpa = found("sdpa")
    assert sdpa.scores.flops == sdpa.mix.flops == 2 * 6 * 66 * 5  # 1 + 2 + … + 11 = 66 cells
    assert sdpa.projection_flops == found("batched").projection_flops
    assert found("reference").scores.flops == sdpa.scores.flops


def test_bytes_of_full_squares_worked_out_by_hand():
    batched = found("batched")
    assert batched.projections.moved == 3 * 22 * 7 + 7 * 45 + 22 * 45  # x thrice, weights, q k v
    assert batched.scores.moved == 2 * 22 * 15 + 726  # q and k read, 6 × 121 cells written
    assert batched.softmax.moved == 4 * 726  # mask and softmax each read and write
    assert batched.mix.moved == 2 * 22 * 15 + 726
    assert batched.out.moved == 22 * 15 + 15 * 15 + 22 * 15
    assert batched.bytes == 4 * (1_767 + 1_386 + 2_904 + 1_386 + 885) == 33_312


def test_kernel_moves_no_pattern():
    sdpa = found("sdpa")
    assert sdpa.softmax.moved == 0
    assert sdpa.scores.moved == sdpa.mix.moved == 2 * 22 * 15


def test_loop_reads_the_input_for_each_head_and_fused_once():
    loop, fused = found("looped").projections, found("fused").projections
    assert loop.flops == fused.flops
    assert loop.moved - fused.moved == (9 - 1) * 22 * 7


def test_loop_projects_shared_kv_heads_for_each_head():
    shared = {"num_kv_heads": 1}
    assert found("batched", **shared).projections.flops == 2 * 22 * 7 * (3 + 2) * 5
    assert found("looped", **shared).projections.flops == 2 * 22 * 7 * 9 * 5


def test_layer_without_out_projection_has_no_work_there():
    out = found("batched", out_proj=False).out
    assert (out.flops, out.moved) == (0, 0)


def test_gradients_are_two_more_products_of_the_same_size():
    assert found("batched", passes="backward").flops == 3 * 38_280
    assert found("batched", passes="backward").bytes == 3 * 33_312


def test_bytes_follow_the_dtype():
    assert found("batched", itemsize=2).bytes == 33_312 // 2


# As wide as its input too: `torch` computes no other.
LAYERS = (sizes().config, AttentionConfig.total(15, 15, 3, 11))


@pytest.mark.parametrize(
    ("name", "config"),
    [
        (name, config)
        for name, entry in IMPLEMENTATIONS.items()
        for config in LAYERS
        if entry.scores == "full"
        and entry.supports(config)
        and name != "threads"  # the counter sees its own thread only
    ],
)
def test_formula_is_what_torch_counts(name, config, generator):
    """An implementation whose line in the table tells something else is found out."""
    asked = replace(sizes(), config=config)
    module = build_attention(name, config, HeadWeights.init(config, generator=generator))
    with FlopCounterMode(display=False) as counter:
        module(torch.randn(2, 11, config.d_in, generator=generator))
    assert counter.get_total_flops() == work(asked, IMPLEMENTATIONS[name]).flops


def test_decode_step_worked_out_by_hand():
    """1 token after 11: one row of 12 cells a head, without a mask, whatever the kernel."""
    batched = found("batched", passes="decode")
    assert batched.projections.flops == 2 * 2 * 7 * 45  # 2 rows, 3 × 15 columns
    assert batched.scores.flops == batched.mix.flops == 2 * 6 * 12 * 5
    assert batched.out.flops == 2 * 2 * 15 * 15
    assert batched.projections.moved == 3 * 2 * 7 + 7 * 45 + 2 * 45
    assert batched.scores.moved == 2 * (1 + 12) * 15 + 6 * 12  # q, all keys; the row is written
    assert batched.softmax.moved == 2 * 6 * 12
    assert batched.out.moved == 2 * 15 + 15 * 15 + 2 * 15
    assert found("sdpa", passes="decode").flops == batched.flops
    assert found("sdpa", passes="decode").scores.moved == 2 * 13 * 15


def test_decode_step_writes_its_formulas_for_one_token():
    batched = found("batched", passes="decode")
    assert batched.projections.flops_formula == "2·B·d_in·(H + 2·K)·d"
    assert batched.scores.flops_formula == "2·B·H·(T + 1)·d"
    assert batched.scores.moved_formula == "B·(1 + T + 1)·H·d (q, k) + B·H·(T + 1)"
    assert batched.out.flops_formula == "2·B·H·d·d_model"


@pytest.mark.parametrize("name", ["looped", "batched", "fused", "einsum", "grouped", "vmap"])
def test_formula_of_a_decode_step_is_what_torch_counts(name):
    settings = BenchmarkSettings(heads=(3,), d_out=15, d_in=7, seq_len=11, batch=2, passes="decode")
    layer = prepare(settings, 3)
    ready = layer.ready(build(layer, name))
    with FlopCounterMode(display=False) as counter, torch.inference_mode():
        ready.run()
    assert counter.get_total_flops() == work(layer.sizes, IMPLEMENTATIONS[name]).flops


@pytest.mark.parametrize("name", sorted(IMPLEMENTATIONS))
def test_every_step_shows_its_formula(name):
    parts = found(name).parts
    assert list(parts) == ["projections", "scores", "softmax", "mix", "out"]
    assert all(part.flops_formula and part.moved_formula for part in parts.values())
