import time

import pytest
import torch

from attention.benchmark import BenchmarkSettings, layer, room
from attention.benchmark import measure as module
from attention.benchmark.measure import clock_of, measure
from attention.errors import DeviceError


def settings(**changes):
    values = {
        "heads": (3,),
        "d_out": 15,
        "d_in": 7,
        "seq_len": 11,
        "implementations": ("looped", "batched", "sdpa"),
        "min_run_time": 1e-4,
        "rounds": 1,
    }
    return BenchmarkSettings(**(values | changes))


def by_name(found):
    return {m.implementation: m for m in found}


@pytest.fixture
def faulty_loop(monkeypatch):
    """The loop's first head sees the future: the mask handed over the wrong way round."""
    build = layer.build

    def build_faulty(prepared, name):
        made = build(prepared, name)
        if name == "looped":
            made.softmax = lambda scores: scores.softmax(dim=-1)
        return made

    monkeypatch.setattr(module, "build", build_faulty)


def test_every_implementation_gets_a_time_shapes_and_a_check():
    found = by_name(measure(settings(), 3))
    assert set(found) == {"looped", "batched", "sdpa"}
    for m in found.values():
        assert m.ok
        assert (m.num_heads, m.head_dim, m.d_out) == (3, 5, 15)
        assert m.output == (1, 11, 15)
        assert m.output_difference <= m.tolerance
    assert found["looped"].weights[0] == "3 × heads.*.W_query (5, 7)"
    assert found["sdpa"].pattern_difference is None


def test_every_point_has_its_work_limit_memory_and_counts():
    found = by_name(measure(settings(), 3))
    for m in found.values():
        assert m.limit_ms >= m.least_ms > 0
        assert m.share > 0
        assert m.peak_bytes >= 11 * 15 * 4  # at least its output
        assert m.limit.projections
        assert m.limit.attention
        assert m.kernels is None
    assert found["sdpa"].limit_ms == found["sdpa"].least_ms < found["batched"].limit_ms
    assert found["looped"].operators > found["batched"].operators > found["sdpa"].operators
    assert found["batched"].flops == 2 * 11 * 7 * 45 + 2 * (2 * 3 * 121 * 5) + 2 * 11 * 15 * 15
    assert found["looped"].moved_bytes > found["batched"].moved_bytes


def test_it_is_told_which_one_has_its_turn():
    """So that the asking process knows which one ended this one, or never came back."""
    told = []
    found = [m.implementation for m in measure(settings(), 3, told.append)]
    assert told == ["looped", "batched", "sdpa", None, *found]


def test_one_that_fails_leaves_the_others(monkeypatch, caplog):
    build = layer.build

    def build_broken(prepared, name):
        if name == "looped":
            raise RuntimeError("no kernel\nfor this")
        return build(prepared, name)

    monkeypatch.setattr(module, "build", build_broken)
    found = by_name(measure(settings(), 3))
    assert found["looped"].error == "Loop failed with RuntimeError: no kernel for this. Not timed."
    assert found["batched"].ok
    assert "Traceback" in caplog.text


def test_no_memory_for_the_plain_products_costs_only_the_limit(monkeypatch):
    def full(*_):
        raise torch.OutOfMemoryError

    monkeypatch.setattr(module, "plain_products", full)
    for m in measure(settings(), 3):
        assert m.ok
        assert (m.limit, m.limit_ms, m.share) == (None, None, None)


def test_compiling_is_timed_apart(monkeypatch):
    made = []
    build = layer.build_attention

    def interpreted(name, config, weights, *, compiled=False, **where):
        made.append((name, compiled))
        return build(name, config, weights, **where)

    monkeypatch.setattr(layer, "build_attention", interpreted)  # compiling takes half a minute
    found = by_name(measure(settings(compiled=True, implementations=("looped",)), 3))
    assert ("looped", True) in made
    assert found["looped"].compile_s >= 0
    assert by_name(measure(settings(), 3))["batched"].compile_s is None


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        ("flex", {"passes": "backward"}, "passes must be forward for FlexAttention on cpu"),
        ("reference", {"compiled": True}, "compiled must be off for reference"),
    ],
)
def test_what_one_cannot_do_is_told_and_the_others_are_timed(name, changes, said, monkeypatch):
    monkeypatch.setattr("attention.implementations.compile_module", lambda module, device: None)
    found = by_name(measure(settings(implementations=(name, "batched"), **changes), 3))
    assert found[name].error.startswith(said)
    assert found["batched"].ok


def test_backward_is_measured_and_tells_how_far_its_gradients_are_off():
    for m in measure(settings(passes="backward"), 3):
        assert m.ok
        assert 0 < m.gradient_difference <= 2e-5
        assert m.gradient_of in {"x", "W_Q", "W_K", "W_V", "W_O", "b_O"}


def test_wrong_gradient_is_reported_and_not_timed(monkeypatch):
    build = layer.build

    def build_cut_off(prepared, name):
        made = build(prepared, name)
        if name == "batched":  # the outputs are right, and nothing flows back to q and k
            softmax = made.softmax
            made.softmax = lambda scores: softmax(scores).detach() + 0 * scores
        return made

    monkeypatch.setattr(module, "build", build_cut_off)
    found = by_name(measure(settings(passes="backward"), 3))
    assert found["looped"].ok
    assert (found["batched"].equal, found["batched"].samples) == (False, ())
    assert "its gradient of W_Q by 1 of that gradient's largest number" in found["batched"].error
    assert not found["batched"].impossible


def test_decode_step_is_measured_and_what_has_no_cache_is_not_possible():
    asked = settings(passes="decode", d_in=15, implementations=("torch", "looped", "batched"))
    found = by_name(measure(asked, 3))
    assert found["torch"].error.startswith("passes must not be decode for PyTorch MHA")
    assert found["torch"].impossible
    for name in ("looped", "batched"):
        m = found[name]
        assert m.ok
        assert m.output == (1, 1, 15)
        assert m.limit_ms >= m.least_ms > 0
        assert m.peak_bytes > 0
    assert found["batched"].flops == 2 * 15 * 45 + 2 * (2 * 3 * 12 * 5) + 2 * 15 * 15
    assert found["looped"].operators > found["batched"].operators


def test_what_computes_something_else_is_reported_and_not_timed(faulty_loop):
    found = by_name(measure(settings(), 3))
    assert found["looped"].equal is False
    assert found["looped"].samples == ()
    assert "computed something else at 3 heads" in found["looped"].error
    assert found["batched"].ok


def test_out_of_memory_of_one_leaves_the_others(monkeypatch):
    build = layer.build

    def build_greedy(prepared, name):
        if name == "looped":
            raise torch.OutOfMemoryError
        return build(prepared, name)

    monkeypatch.setattr(module, "build", build_greedy)
    found = by_name(measure(settings(), 3))
    assert found["looped"].error.startswith("memory of cpu must be enough")
    assert found["looped"].samples == ()
    assert found["batched"].ok


def test_out_of_memory_of_the_exact_result_is_told_for_all(monkeypatch):
    monkeypatch.setattr(room, "free_memory", lambda: 10)
    found = list(measure(settings(), 3))
    assert len(found) == 3
    assert all("memory must be enough" in m.error and not m.samples for m in found)


def test_text_too_long_to_check_whole_is_timed_all_the_same(monkeypatch):
    # It was refused: no square of it fits, but the fused kernel needs none.
    monkeypatch.setattr(room, "free_memory", lambda: 300_000)
    long = settings(seq_len=211, implementations=("sdpa", "batched"))
    found = by_name(measure(long, 3))
    assert found["sdpa"].ok
    assert found["sdpa"].checked_tokens == 16
    assert found["sdpa"].output == (1, 211, 15)
    assert found["batched"].error.startswith(
        "memory must be enough for the patterns of 3 heads at 211 tokens; Batch needs about 1.69 MB"
    )


def test_plain_products_that_do_not_fit_cost_only_the_limit(monkeypatch):
    monkeypatch.setattr(module, "has_room_for_products", lambda settings, num_heads: False)
    assert all(m.ok and m.limit is None for m in measure(settings(), 3))


def test_out_of_memory_while_timing_is_told(monkeypatch):
    def full(calls, **_):
        raise torch.OutOfMemoryError

    monkeypatch.setattr(module, "time_interleaved", full)
    assert all("ran out" in m.error for m in measure(settings(), 3))


def test_load_of_other_programs_is_told(monkeypatch):
    monkeypatch.setattr(module, "disturbance", lambda others, threads, cores: "too busy")
    assert {m.disturbed for m in measure(settings(), 3)} == {"too busy"}


def test_settings_reach_the_timer(monkeypatch):
    seen = {}

    def timer(calls, **given):
        seen.update(given)
        return {name: [1.0] for name in calls}

    monkeypatch.setattr(module, "time_interleaved", timer)
    list(measure(settings(threads=5, rounds=7, min_run_time=0.25), 3))
    clock = seen.pop("clock")
    assert seen == {
        "device": "cpu",
        "threads": 5,
        "rounds": 7,
        "min_run_time": 0.25,
        "cold_l2": True,
    }
    assert clock is time.perf_counter


def test_one_thread_on_a_cpu_is_timed_by_what_it_worked():
    """Or a busy machine would make the loop look five times as slow."""
    assert clock_of(settings(threads=1)) is time.process_time
    assert clock_of(settings(threads=2)) is time.perf_counter
    assert clock_of(settings(threads=1, device="mps")) is time.perf_counter


def test_missing_device_is_refused():
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device here")
    with pytest.raises(DeviceError, match="device cuda cannot be used here"):
        list(measure(settings(device="cuda"), 3))
