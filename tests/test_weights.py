import dataclasses

import jaxtyping
import pytest
import torch

from attention.config import AttentionConfig
from attention.errors import ConfigError
from attention.weights import HeadWeights

CONFIG = AttentionConfig.total(7, 15, 3, 11, qkv_bias=True)
GROUPED = AttentionConfig.total(7, 45, 9, 11, num_kv_heads=3, qkv_bias=True)


def test_init_has_the_shapes_of_the_config(generator):
    weights = HeadWeights.init(GROUPED, generator=generator)
    shapes = {name: tuple(t.shape) for name, t in weights.parts().items() if t is not None}
    assert shapes == {
        "W_Q": (9, 7, 5),
        "W_K": (3, 7, 5),
        "W_V": (3, 7, 5),
        "W_O": (9, 5, 45),
        "b_Q": (9, 5),
        "b_K": (3, 5),
        "b_V": (3, 5),
        "b_O": (45,),
    }
    weights.check(GROUPED)


def test_init_leaves_out_what_the_config_leaves_out(generator):
    weights = HeadWeights.init(AttentionConfig.per_head(7, 5, 3, 11), generator=generator)
    assert {name for name, t in weights.parts().items() if t is not None} == {"W_Q", "W_K", "W_V"}


def test_init_depends_on_the_seed_alone():
    first, again, other = (
        HeadWeights.init(CONFIG, generator=torch.Generator().manual_seed(seed)).W_Q
        for seed in (2, 2, 3)
    )
    torch.testing.assert_close(first, again, rtol=0, atol=0)
    assert not torch.equal(first, other)


def test_init_stays_within_the_bound_of_a_linear_layer(generator):
    weights = HeadWeights.init(CONFIG, generator=generator)
    assert weights.W_Q.abs().max() <= 7**-0.5
    assert weights.W_O is not None
    assert weights.W_O.abs().max() <= 15**-0.5


@pytest.mark.usefixtures("as_in_use")
@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("W_Q", (7, 15), r"W_Q must have 3 axes .* got \(7, 15\)"),
        ("W_K", (3, 5, 7), r"W_K must have shape \(3, 7, 5\); got \(3, 5, 7\)"),
        ("W_V", (2, 7, 5), r"W_V must have shape \(3, 7, 5\); got \(2, 7, 5\)"),
        ("W_O", (15, 15), r"W_O must have shape \(3, 5, 15\); got \(15, 15\)"),
        ("b_Q", (15,), r"b_Q must have shape \(3, 5\); got \(15,\)"),
        ("b_O", (3, 5), r"b_O must have shape \(15,\); got \(3, 5\)"),
    ],
)
def test_misshapen_tensor_is_refused_with_both_shapes(generator, name, shape, message):
    weights = HeadWeights.init(CONFIG, generator=generator)
    with pytest.raises(ConfigError, match=message):
        dataclasses.replace(weights, **{name: torch.zeros(shape)})


def test_shape_checker_is_on(generator):
    # A canary: were it off, no annotation in `attention` would be tested.
    weights = HeadWeights.init(CONFIG, generator=generator)
    with pytest.raises(jaxtyping.TypeCheckError):
        dataclasses.replace(weights, W_K=torch.zeros(3, 5, 7))


def test_one_bias_without_the_others_is_refused(generator):
    # b_Q without b_K once passed, and failed inside torch when a layer was built.
    weights = HeadWeights.init(CONFIG, generator=generator)
    with pytest.raises(ConfigError, match="given together or not at all"):
        dataclasses.replace(weights, b_K=None)


def test_output_bias_without_an_output_matrix_is_refused(generator):
    weights = HeadWeights.init(CONFIG, generator=generator)
    with pytest.raises(ConfigError, match="b_O must come with W_O"):
        dataclasses.replace(weights, W_O=None)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (AttentionConfig.total(7, 10, 2, 11, qkv_bias=True), "num_heads .* must be 2; got 3"),
        (AttentionConfig.total(5, 15, 3, 11, qkv_bias=True), "d_in .* must be 5; got 7"),
        (AttentionConfig.total(7, 21, 3, 11, qkv_bias=True), "head_dim .* must be 7; got 5"),
        (AttentionConfig.total(7, 15, 3, 11), "qkv_bias .* must be False; got True"),
        (AttentionConfig.total(7, 15, 3, 11, qkv_bias=True, out_proj=False), "out_proj"),
        (AttentionConfig.total(7, 15, 3, 11, qkv_bias=True, out_bias=False), "out_bias"),
        (dataclasses.replace(CONFIG, d_model=13), "d_model .* must be 13; got 15"),
        (AttentionConfig.total(7, 15, 3, 11, qkv_bias=True, num_kv_heads=1), "num_kv_heads"),
    ],
)
def test_weights_of_another_config_are_refused_with_both_numbers(generator, other, message):
    with pytest.raises(ConfigError, match=message):
        HeadWeights.init(CONFIG, generator=generator).check(other)


def test_knocked_out_head_loses_its_rows_of_the_output_matrix_only(generator):
    weights = HeadWeights.init(CONFIG, generator=generator)
    assert weights.W_O is not None
    before = weights.W_O.clone()
    off = weights.without([1])
    assert off.W_O is not None
    expected = before.clone()
    expected[1] = 0
    torch.testing.assert_close(off.W_O, expected)
    torch.testing.assert_close(off.W_Q, weights.W_Q)
    torch.testing.assert_close(weights.W_O, before)  # the weights themselves stay


def test_no_head_can_be_knocked_out_without_an_output_matrix(generator):
    weights = HeadWeights.init(AttentionConfig.per_head(7, 5, 3, 11), generator=generator)
    with pytest.raises(ConfigError, match="this layer has none"):
        weights.without([0])


def test_first_heads_are_a_narrower_layer(generator):
    weights = HeadWeights.init(CONFIG, generator=generator).first(2)
    full = HeadWeights.init(CONFIG, generator=torch.Generator().manual_seed(20))
    assert weights.num_heads == 2
    for name, tensor in full.parts().items():
        kept = tensor if name == "b_O" else tensor[:2]
        torch.testing.assert_close(weights.parts()[name], kept)


@pytest.mark.parametrize(
    ("num_heads", "kv_heads"), [(6, [0, 1]), (4, [0, 0, 0, 1]), (9, [0, 1, 2])]
)
def test_first_heads_keep_the_kv_heads_they_use(generator, num_heads, kv_heads):
    weights = HeadWeights.init(GROUPED, generator=generator)
    cut = weights.first(num_heads)
    torch.testing.assert_close(cut.W_K, weights.W_K[kv_heads])
    torch.testing.assert_close(cut.b_V, weights.b_V[kv_heads])
    torch.testing.assert_close(cut.W_Q, weights.W_Q[:num_heads])


def test_to_changes_every_tensor(generator):
    moved = HeadWeights.init(CONFIG, generator=generator).to("meta", torch.float64)
    tensors = [t for t in moved.parts().values() if t is not None]
    assert len(tensors) == 8
    assert {(t.device.type, t.dtype) for t in tensors} == {("meta", torch.float64)}


@pytest.mark.usefixtures("as_in_use")
@pytest.mark.parametrize("heads", [[-1], [3], [0.5], [True, False]])
def test_knocking_out_a_head_that_does_not_exist_is_refused(generator, heads):
    # -1 knocked out the last head, 0.5 the first, and [True, False] others than were meant.
    weights = HeadWeights.init(CONFIG, generator=generator)
    with pytest.raises(ConfigError, match="head must be 0 to 2; got "):
        weights.without(heads)


@pytest.mark.usefixtures("as_in_use")
@pytest.mark.parametrize("num_heads", [0, -1, 4, 1.5, None])
def test_more_or_fewer_heads_than_there_are_is_refused(generator, num_heads):
    # -1 gave all but the last head, 4 gave three, without a word.
    weights = HeadWeights.init(CONFIG, generator=generator)
    with pytest.raises(ConfigError, match="num_heads must be "):
        weights.first(num_heads)


@pytest.mark.usefixtures("as_in_use")
@pytest.mark.parametrize("kv_heads", [0, 2, 4])
def test_kv_heads_that_do_not_divide_the_heads_are_refused(kv_heads):
    kv = torch.ones(kv_heads, 7, 5)
    with pytest.raises(ConfigError, match=f"must divide num_heads; got {kv_heads} kv heads in W_K"):
        HeadWeights(W_Q=torch.ones(3, 7, 5), W_K=kv, W_V=kv)
