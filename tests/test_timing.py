import itertools
import time

import pytest
import torch

from attention import timing
from attention.config import AttentionConfig
from attention.errors import ConfigError
from attention.model import LanguageModel, ModelConfig
from attention.timing import (
    WARM_UP_CALLS,
    CudaStopwatch,
    forward_clock,
    time_forward,
    time_interleaved,
)
from attention.tokens import Tokens

FAST = {"min_run_time": 1e-4, "rounds": 1}


class FakeClock:
    """Seconds that pass only while a call runs."""

    def __init__(self):
        self.now = 0.0
        self.log = []

    def __call__(self):
        return self.now

    def call(self, name, seconds):
        def run():
            self.log.append(name)
            self.now += seconds

        return run


def timed(clock, calls, **changes):
    settings = {"device": "cpu", "threads": 1, "rounds": 3, "min_run_time": 0.9} | changes
    return time_interleaved(calls, clock=clock, **settings)


def model(num_layers=2, num_heads=3):
    torch.manual_seed(20)
    attention = AttentionConfig(
        d_in=7,
        num_heads=num_heads,
        head_dim=4,
        context_length=13,
        num_kv_heads=num_heads,
        d_model=7,
    )
    config = ModelConfig(vocab_size=17, num_layers=num_layers, d_mlp=11, attention=attention)
    return LanguageModel(config).eval()


@pytest.fixture
def tokens():
    return Tokens.from_ids([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5], None)


def test_samples_are_milliseconds_of_one_call():
    clock = FakeClock()
    samples = timed(clock, {"slow": clock.call("slow", 0.25)})
    assert samples["slow"] == pytest.approx([250.0] * 6)


def test_each_call_is_sampled_for_the_time_asked_for_over_all_rounds():
    clock = FakeClock()
    samples = timed(clock, {"slow": clock.call("slow", 0.125)}, rounds=3, min_run_time=1.125)
    assert len(samples["slow"]) == 9


def test_slower_call_than_a_turn_still_gets_one_sample_a_round():
    clock = FakeClock()
    samples = timed(clock, {"slow": clock.call("slow", 70.0)}, rounds=3)
    assert samples["slow"] == pytest.approx([70_000.0] * 3)


def test_calls_take_turns_and_another_begins_each():
    clock = FakeClock()
    timed(clock, {name: clock.call(name, 1.0) for name in "abc"}, rounds=3, min_run_time=0.3)
    turns = "".join(name for name, _ in itertools.groupby(clock.log))
    assert turns == "abc" + "abc" + "bca" + "cab"  # the warm-up first


def test_first_calls_are_not_in_the_samples():
    clock = FakeClock()
    slow_starts = iter([50.0] * WARM_UP_CALLS)

    def starts_slowly():
        clock.now += next(slow_starts, 0.5)

    samples = timed(clock, {"a": starts_slowly})
    assert set(samples["a"]) == {500.0}


def test_threads_asked_for_are_used_and_put_back():
    before = torch.get_num_threads()
    seen = set()
    wanted = before + 1
    calls = {"a": lambda: seen.add(torch.get_num_threads())}
    time_interleaved(calls, device="cpu", threads=wanted, rounds=1, min_run_time=1e-4)
    assert seen == {wanted}
    assert torch.get_num_threads() == before


def test_calls_run_in_inference_mode():
    seen = set()
    calls = {"a": lambda: seen.add(torch.is_inference_mode_enabled())}
    time_interleaved(calls, device="cpu", threads=1, rounds=1, min_run_time=1e-4)
    assert seen == {True}


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"threads": 0}, "threads must"),
        ({"rounds": 0}, "rounds must"),
        ({"min_run_time": 0.0}, "min_run_time must be above 0"),
        ({"min_run_time": float("nan")}, "min_run_time must be above 0"),
    ],
)
def test_impossible_settings_are_refused(changes, rule):
    clock = FakeClock()
    with pytest.raises(ConfigError, match=rule):
        timed(clock, {"a": clock.call("a", 1.0)}, **changes)


class FakeCuda:
    """A GPU whose events read a clock, and which notes when it is waited for."""

    def __init__(self, clock):
        self.clock = clock
        self.synchronized = 0

    def install(self, patch):
        cuda = self

        class Event:
            def __init__(self, enable_timing):
                assert enable_timing

            def record(self):
                self.at = cuda.clock.now

            def synchronize(self):
                cuda.synchronized += 1

            def elapsed_time(self, end):
                return (end.at - self.at) * 1e3

        patch.setattr(torch.cuda, "Event", Event)
        patch.setattr(torch.cuda, "synchronize", self.wait)
        patch.setattr(torch.cuda, "device", lambda device: torch.inference_mode())
        patch.setattr(timing, "FLUSH_BYTES", 8)

    def wait(self, device):
        self.synchronized += 1
        self.clock.now += 1.0  # time outside the events is not the call's


def test_gpu_is_timed_by_events_and_waited_for_before_and_after_each_call(monkeypatch):
    clock = FakeClock()
    cuda = FakeCuda(clock)
    cuda.install(monkeypatch)
    stopwatch = CudaStopwatch(torch.device("cpu"))
    assert stopwatch.samples(clock.call("a", 0.25), 1.0) == pytest.approx([250.0] * 4)
    assert cuda.synchronized == 8


@pytest.mark.parametrize(("cold", "flushed"), [(True, 8), (False, 0)])
def test_l2_cache_of_a_gpu_is_emptied_unless_told_otherwise(cold, flushed, monkeypatch):
    clock = FakeClock()
    FakeCuda(clock).install(monkeypatch)
    stopwatch = CudaStopwatch(torch.device("cpu"), cold_l2=cold)
    overwritten = []
    monkeypatch.setattr(
        torch.Tensor, "zero_", lambda tensor: overwritten.append(tensor.numel()), raising=False
    )
    stopwatch.samples(clock.call("a", 0.5), 1.0)
    assert overwritten == [flushed] * 2


@pytest.mark.parametrize(
    ("kind", "wanted"), [("cpu", timing.HostStopwatch), ("mps", timing.HostStopwatch)]
)
def test_host_clock_times_cpu_and_mps(kind, wanted):
    assert isinstance(timing._stopwatch(torch.device(kind), 1, FakeClock()), wanted)


def test_mps_is_waited_for_at_each_reading_of_the_clock(monkeypatch):
    waits = []
    monkeypatch.setattr(torch.mps, "synchronize", lambda: waits.append(1))
    clock = FakeClock()
    samples = timed(clock, {"a": clock.call("a", 1.0)}, device="mps", rounds=1)
    assert samples["a"] == pytest.approx([1000.0])
    assert len(waits) >= 2


def test_forward_of_each_implementation_is_timed(tokens):
    samples = time_forward(model(), tokens, ["looped", "batched"], **FAST)
    assert list(samples) == ["looped", "batched"]
    assert all(time > 0 for times in samples.values() for time in times)


@pytest.mark.parametrize(
    ("most", "parts"), [(1 << 24, [11]), (17 * 4 + 3, [4, 4, 3]), (1, [1] * 11)]
)
def test_forward_computes_every_logit_and_holds_so_many(tokens, monkeypatch, most, parts):
    net, read = model(), []
    read_out = net.read_out
    monkeypatch.setattr(timing, "LOGITS", most)
    monkeypatch.setattr(net, "read_out", lambda x: read.append(x.shape[1]) or read_out(x))
    time_forward(net, tokens, ["batched"], **FAST)
    assert read[: len(parts)] == read[-len(parts) :] == parts


def test_forward_runs_the_asked_implementation_and_heads(tokens, monkeypatch):
    net = model()
    asked = []
    layers_of = net.attention_layers
    monkeypatch.setattr(
        net,
        "attention_layers",
        lambda name, **settings: asked.append((name, settings)) or layers_of(name, **settings),
    )
    time_forward(net, tokens, ["fused"], num_heads=2, **FAST)
    assert asked == [("fused", {"num_heads": 2})]


# ------------------------------------------------------------------ the clock of a forward pass


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def test_one_thread_is_timed_by_its_own_cpu_time(threads):
    # On a busy machine the wall clock made a forward pass of 2 ms take 400.
    threads(1)
    assert forward_clock(torch.device("cpu")) == (time.thread_time, "CPU time")
    threads(2)
    assert forward_clock(torch.device("cpu")) == (time.perf_counter, "wall clock")
    threads(1)
    assert forward_clock(torch.device("cuda")) == (time.perf_counter, "wall clock")
