import dataclasses

import pytest

from attention.config import AttentionConfig, divisors
from attention.errors import ConfigError


def test_total_splits_d_out_over_the_heads():
    config = AttentionConfig.total(7, 15, 3, 11)
    assert (config.d_in, config.num_heads, config.context_length) == (7, 3, 11)
    assert (config.head_dim, config.d_out, config.d_model) == (5, 15, 15)
    assert config.out_proj


def test_per_head_gives_every_head_the_full_width():
    # d_out means this in the book's wrapper: taken for the total, its output is 3 times too wide.
    config = AttentionConfig.per_head(7, 5, 3, 11)
    assert (config.head_dim, config.d_out, config.d_model) == (5, 15, 15)
    assert not config.out_proj


def test_both_readings_meet_in_the_same_layer():
    assert AttentionConfig.total(7, 15, 3, 11) == AttentionConfig.per_head(
        7, 5, 3, 11, out_proj=True
    )


def test_every_head_has_its_own_kv_head_unless_said_otherwise():
    assert AttentionConfig.total(7, 15, 3, 11).num_kv_heads == 3
    grouped = AttentionConfig.total(7, 45, 9, 11, num_kv_heads=3)
    assert (grouped.num_kv_heads, grouped.heads_per_kv) == (3, 3)
    assert AttentionConfig.per_head(7, 5, 9, 11, num_kv_heads=3).heads_per_kv == 3


def test_scale_is_that_of_one_head():
    assert AttentionConfig.total(7, 12, 3, 11).scale == 0.5
    assert AttentionConfig.per_head(7, 4, 3, 11).scale == 0.5


@pytest.mark.parametrize(
    ("d_out", "num_heads", "nearest"),
    [
        (10, 3, "Nearest totals for 3 heads: 9 and 12; nearest head counts for 10: 2 and 5."),
        (2, 3, "Nearest totals for 3 heads: 3; nearest head counts for 2: 2."),
        (7, 2, "Nearest totals for 2 heads: 6 and 8; nearest head counts for 7: 1 and 7."),
        (8, 3, "Nearest totals for 3 heads: 6 and 9; nearest head counts for 8: 2 and 4."),
    ],
)
def test_heads_that_do_not_divide_are_refused_with_the_nearest_that_do(d_out, num_heads, nearest):
    # 8 // 3 heads once gave a narrower layer in silence.
    with pytest.raises(ConfigError, match=f"got d_out {d_out} and num_heads {num_heads}") as error:
        AttentionConfig.total(7, d_out, num_heads, 11)
    assert str(error.value).endswith(nearest)


@pytest.mark.usefixtures("as_in_use")
@pytest.mark.parametrize("value", [0, -3, 2.0, "3", None, True])
@pytest.mark.parametrize("name", ["d_in", "num_heads", "head_dim", "context_length", "d_model"])
def test_size_that_is_no_positive_whole_number_is_refused(name, value):
    with pytest.raises(ConfigError, match=f"{name} must be a whole number of at least 1; got"):
        dataclasses.replace(AttentionConfig.total(7, 15, 3, 11), **{name: value})


@pytest.mark.parametrize("build", [AttentionConfig.total, AttentionConfig.per_head])
@pytest.mark.parametrize("num_heads", [0, -1])
def test_no_heads_are_refused_before_anything_is_divided(build, num_heads):
    with pytest.raises(ConfigError, match=f"num_heads must be .* got {num_heads}"):
        build(7, 15, num_heads, 11)


def test_kv_heads_that_do_not_divide_are_refused():
    with pytest.raises(ConfigError, match=r"got 2 kv heads for 3 heads\. Choices: 1, 3\."):
        AttentionConfig.total(7, 15, 3, 11, num_kv_heads=2)


@pytest.mark.parametrize("dropout", [-0.1, 1.0, float("nan")])
def test_dropout_outside_its_range_is_refused(dropout):
    with pytest.raises(ConfigError, match="dropout must be at least 0 and below 1"):
        AttentionConfig.total(7, 15, 3, 11, dropout=dropout)


def test_another_width_without_an_output_projection_is_refused():
    config = AttentionConfig.per_head(7, 5, 3, 11)
    with pytest.raises(
        ConfigError, match="d_model must equal d_out without out_proj; got 7 and 15"
    ):
        dataclasses.replace(config, d_model=7)


def test_divisors_rise():
    assert divisors(12) == [1, 2, 3, 4, 6, 12]
    assert divisors(1) == [1]


@pytest.mark.usefixtures("as_in_use")
@pytest.mark.parametrize("dropout", ["0.1", None, True, 1.0, -0.1, float("nan")])
def test_no_dropout(dropout):
    with pytest.raises(ConfigError, match="dropout must be at least 0 and below 1; got "):
        AttentionConfig.total(7, 15, 3, 11, dropout=dropout)


def test_divisors_of_a_large_number_are_found_soon():
    # The search for the nearest head counts took one step a feature: hours for a typing error.
    assert divisors(36) == [1, 2, 3, 4, 6, 9, 12, 18, 36]
    assert divisors(1 << 40) == [1 << i for i in range(41)]
    with pytest.raises(ConfigError, match="nearest head counts for 1000000000000: 5 and 8"):
        AttentionConfig.total(7, 10**12, 7, 11)


@pytest.mark.parametrize("make", [AttentionConfig.total, AttentionConfig.per_head])
def test_size_beyond_every_machine_is_refused(make):
    with pytest.raises(ConfigError, match=r"must be at most 1099511627776; got 10{15}\."):
        make(7, 10**15, 7, 11)
