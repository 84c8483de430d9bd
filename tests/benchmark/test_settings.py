import json

import pytest

from attention.benchmark import BenchmarkSettings
from attention.benchmark.settings import default_threads
from attention.errors import ConfigError


def settings(**changes):
    return BenchmarkSettings(**({"heads": (1, 3), "d_out": 15} | changes))


def per_head(**changes):
    return settings(d_out=None, d_out_per_head=5, **changes)


def test_total_width_is_shared_among_the_heads():
    config = settings(seq_len=11).config(3)
    assert (config.d_in, config.head_dim, config.d_out, config.d_model) == (15, 5, 15, 15)
    assert config.out_proj
    assert config.context_length == 11


def test_width_of_each_head_makes_the_layer_grow():
    config = per_head(d_in=7).config(3)
    assert (config.d_in, config.head_dim, config.d_out) == (7, 5, 15)
    assert not config.out_proj


@pytest.mark.parametrize(
    ("given", "reading", "width"), [(settings, "total", 15), (per_head, "per_head", 5)]
)
def test_reading_of_d_out_is_told(given, reading, width):
    assert given().reading == reading
    assert given().width == width


def test_head_count_that_does_not_divide_is_refused_with_the_nearest_numbers():
    with pytest.raises(
        ConfigError, match=r"got d_out 15 and num_heads 4\. Nearest totals for 4 heads: 12 and 16"
    ):
        settings(heads=(1, 4))


@pytest.mark.parametrize("widths", [{"d_out": None}, {"d_out_per_head": 5}])
def test_exactly_one_width_must_be_given(widths):
    with pytest.raises(ConfigError, match="exactly one of d_out"):
        settings(**widths)


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"seq_len": 0}, "seq_len must"),
        ({"seq_len": 1 << 70}, "seq_len must be below"),
        ({"context_length": 0}, "context_length must"),
        (
            {"seq_len": 11, "context_length": 10},
            "context_length must be at least seq_len 11; got 10",
        ),
        ({"batch": -1}, "batch must"),
        ({"threads": 0}, "threads must"),
        ({"rounds": 0}, "rounds must"),
        ({"heads": (0,)}, "num_heads must"),
        ({"d_in": 0}, "d_in must"),
        ({"implementations": ("batch",)}, "implementation must be one of"),
        ({"dtype": "float8"}, "dtype must be one of"),
        ({"min_run_time": 0.0}, "min_run_time must"),
        ({"min_run_time": float("inf")}, "min_run_time must"),
        ({"patience": 0.0}, "patience must"),
        ({"num_kv_heads": 0}, "num_kv_heads must"),
        ({"num_kv_heads": 3}, "num_kv_heads must divide num_heads; got 3 kv heads for 1 heads"),
    ],
)
def test_impossible_setting_is_refused(changes, rule):
    with pytest.raises(ConfigError, match=rule):
        settings(**changes)


@pytest.mark.parametrize("name", ["passes", "allocator", "l2"])
def test_unknown_choice_is_refused(name):
    made = settings()
    object.__setattr__(made, name, "sideways")  # the shape checker refuses it earlier in the tests
    with pytest.raises(ConfigError, match=f"{name} must be one of"):
        made.__post_init__()


@pytest.mark.parametrize("given", [settings, per_head])
def test_kv_heads_are_shared(given):
    config = given(heads=(3, 15), num_kv_heads=3).config(15)
    assert (config.num_heads, config.num_kv_heads, config.heads_per_kv) == (15, 3, 5)


def test_benchmarks_that_differ_in_heads_only_are_one_family():
    shared = settings(heads=(3, 15), num_kv_heads=3)
    assert shared.family == shared.with_heads(15).family
    assert settings(heads=(1,)).family == settings(heads=(3, 5)).family


def test_patience_grows_with_what_is_to_be_sampled():
    assert settings(patience=100.0, min_run_time=7.0).patience_for(5) == 170.0


def test_settings_survive_json():
    before = settings(implementations=("looped", "sdpa"), seq_len=11)
    assert BenchmarkSettings.from_json(json.loads(json.dumps(before.to_json()))) == before


def test_same_benchmark_at_other_heads_differs_in_nothing_else():
    assert settings(seq_len=11).with_heads(5) == settings(seq_len=11, heads=(5,))


@pytest.mark.parametrize(("cores", "threads"), [(1, 1), (2, 1), (3, 1), (8, 4)])
def test_half_the_cores_are_left_free(cores, threads, monkeypatch):
    monkeypatch.setattr("attention.benchmark.settings.usable_cores", lambda: cores)
    assert default_threads() == threads


@pytest.mark.usefixtures("as_in_use")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"heads": ()}, r"heads must be a list of at least one; got \(\)"),
        ({"heads": 4}, "heads must be a list of at least one; got 4"),
        ({"implementations": ()}, r"implementations must be a list of at least one; got \(\)"),
        ({"implementations": "looped"}, "implementations must be a list .*; got 'looped'"),
        ({"seed": "x"}, "seed must be a whole number .*; got 'x'"),
        ({"seed": 1 << 64}, "seed must be a whole number .*; got 18446744073709551616"),
        ({"threads": 10**9}, "threads must be at most 1024; got 1000000000"),
        ({"min_run_time": "1"}, "min_run_time must be above 0 seconds; got '1'"),
    ],
)
def test_what_only_the_measuring_process_would_have_noticed_is_refused(changes, message):
    # Some ended that process, which looked like a fault of ours; some measured nothing.
    with pytest.raises(ConfigError, match=message):
        settings(**changes)


def test_layer_is_made_for_the_text_or_for_more():
    assert settings(seq_len=11).config(3).context_length == 11
    longer = settings(seq_len=11, context_length=1024)
    assert longer.config(3).context_length == 1024
    assert BenchmarkSettings.from_json(longer.to_json()) == longer
