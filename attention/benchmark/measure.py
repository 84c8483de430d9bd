"""Measures every implementation at one head count: checks first, then times in turns."""

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

from attention.benchmark.check import check
from attention.benchmark.counts import count
from attention.benchmark.layer import Layer, build, describe_weights, prepare
from attention.benchmark.limit import ATTENTION, PROJECTIONS, Limit, plain_products
from attention.benchmark.load import LoadMeter, disturbance, usable_cores
from attention.benchmark.measurement import Measurement
from attention.benchmark.room import has_room_for_products
from attention.benchmark.settings import BenchmarkSettings
from attention.benchmark.work import work
from attention.compiling import time_compiling
from attention.devices import DTYPES, find_device
from attention.errors import ConfigError, DeviceError, HeadscopeError
from attention.implementations import IMPLEMENTATIONS
from attention.memory import memory_errors_as_sentences
from attention.timing import Call, Clock, time_interleaved

log = logging.getLogger("headscope")
LONGEST_COUNTED_MS = 20_000.0  # a pass of millions of operators fills the profiler's memory
LONGEST_REASON = 200  # characters
Begin = Callable[[str | None], None]


@dataclass(frozen=True)
class _Subject:
    """An implementation that was found right and waits to be timed."""

    run: Call
    facts: dict[str, Any]


def measure(
    settings: BenchmarkSettings, num_heads: int, begin: Begin = lambda name: None
) -> Iterator[Measurement]:
    """Check, time and count each implementation at one head count.

    One that differs from the exact result, fails, or has too little memory gets no time.

    Args:
        settings: of the benchmark.
        num_heads: query heads.
        begin: told which implementation has its turn alone, so that it is known which one ended
            the process or never came back; None while all are timed in turns.

    Yields:
        one measurement for each implementation; those that failed come first.

    Raises:
        ConfigError: when the head count does not fit the width.
        DeviceError: when the device does not exist here or lacks the dtype.
    """
    find_device(settings.device, settings.dtype)
    config = settings.config(num_heads)
    sizes: dict[str, Any] = {
        "num_heads": num_heads,
        "head_dim": config.head_dim,
        "d_out": config.d_out,
    }
    try:
        with memory_errors_as_sentences(torch.device(settings.device)):
            layer = prepare(settings, num_heads)
    except DeviceError as error:
        for name in settings.implementations:
            yield Measurement(implementation=name, error=str(error), **sizes)
        return
    subjects: dict[str, _Subject] = {}
    for name in settings.implementations:
        begin(name)
        facts: dict[str, Any] = {"implementation": name, **sizes}
        try:
            with memory_errors_as_sentences(torch.device(settings.device)):
                subject = _examine(layer, name, facts)
        except Exception as error:  # of one: the others can still be timed
            impossible = isinstance(error, ConfigError)
            yield Measurement(**facts, error=_reason(name, error), impossible=impossible)
            continue
        if subject.facts["equal"]:
            subjects[name] = subject
        else:
            yield Measurement(**subject.facts, error=_wrong(subject.facts))
    begin(None)
    timed = list(_time(layer, subjects))
    for m in timed:
        begin(m.implementation)
        yield _counted(m, layer, subjects[m.implementation])


def clock_of(settings: BenchmarkSettings) -> Clock:
    """What measures the time.

    With one thread on a CPU it is this process's CPU time, which stands still while another
    program has the core; with several threads, or on another device, the wall clock.
    """
    return time.process_time if settings.on_one_core else time.perf_counter


def _examine(layer: Layer, name: str, facts: dict[str, Any]) -> _Subject:
    """Build it and compare what will be timed with the exact result.

    Compiling is timed by the first run, apart from the samples.
    """
    module, compile_s = build(layer, name), None
    ready = layer.ready(module)
    if layer.settings.compiled:  # before the check, which compiles most of the same again
        with torch.inference_mode():
            compile_s = time_compiling(_waited_for(ready.run, layer)).seconds
    found = asdict(check(layer, ready, layer.ready_to_check(module)))
    done = work(layer.sizes, IMPLEMENTATIONS[name])
    told = {
        "weights": describe_weights(module),
        "output": tuple(layer.given.pull.shape),
        "compile_s": compile_s,
        "checked_tokens": None if layer.beginning is None else layer.beginning.x.shape[1],
    }
    counted = {"flops": done.flops, "moved_bytes": done.bytes}
    return _Subject(ready.run, {**facts, **found, **told, **counted})


def _waited_for(run: Call, layer: Layer) -> Call:
    """A call that ends when the GPU has."""
    if not layer.settings.device.startswith("cuda"):
        return run

    def waiting() -> None:
        run()
        torch.cuda.synchronize(layer.settings.device)

    return waiting


def _reason(name: str, error: Exception) -> str:
    if isinstance(error, HeadscopeError):
        return str(error)
    log.warning("%s failed", name, exc_info=error)
    said = " ".join(str(error).split())[:LONGEST_REASON]
    return f"{IMPLEMENTATIONS[name].title} failed with {type(error).__name__}: {said}. Not timed."


def _wrong(facts: dict[str, Any]) -> str:
    title = IMPLEMENTATIONS[facts["implementation"]].title
    pattern, gradient = facts["pattern_difference"], facts["gradient_difference"]
    also = "" if pattern is None else f", its pattern by {pattern:.2g}"
    if gradient is not None:
        of = facts["gradient_of"]
        also += f", its gradient of {of} by {gradient:.2g} of that gradient's largest number"
    return (
        f"{title} computed something else at {facts['num_heads']} heads: its output differs by "
        f"{facts['output_difference']:.2g}{also} (tolerance {facts['tolerance']:.2g}). Not timed."
    )


def _time(layer: Layer, subjects: dict[str, _Subject]) -> Iterator[Measurement]:
    settings = layer.settings
    calls = {name: subject.run for name, subject in subjects.items()}
    meter = LoadMeter()
    try:
        with meter, memory_errors_as_sentences(torch.device(settings.device)):
            samples = time_interleaved(
                {**calls, **_plain(layer)} if calls else {},
                device=settings.device,
                threads=settings.threads,
                rounds=settings.rounds,
                min_run_time=settings.min_run_time,
                clock=clock_of(settings),
                cold_l2=settings.l2 == "cold",
            )
    except DeviceError as error:
        for subject in subjects.values():
            yield Measurement(**subject.facts, error=str(error))
        return
    disturbed = disturbance(meter.others, settings.threads, usable_cores())
    limit = None
    if PROJECTIONS in samples:
        limit = Limit(tuple(samples[PROJECTIONS]), tuple(samples[ATTENTION]))
    for name, subject in subjects.items():
        timed = Measurement(
            **subject.facts,
            samples=tuple(samples[name]),
            others=meter.others,
            disturbed=disturbed,
        )
        yield timed if limit is None else _limited(timed, limit, layer)


def _plain(layer: Layer) -> dict[str, Call]:
    """The plain products; none where the memory is just enough without them."""
    settings = layer.settings
    device, dtype = torch.device(settings.device), DTYPES[settings.dtype]
    if not has_room_for_products(settings, layer.config.num_heads):
        return {}
    try:
        with memory_errors_as_sentences(device):
            return plain_products(layer.sizes, device, dtype)
    except DeviceError:
        return {}


def _limited(m: Measurement, limit: Limit, layer: Layer) -> Measurement:
    """With the time that plain products take for the same FLOPs."""
    sizes = layer.sizes
    own = limit.milliseconds(work(sizes, IMPLEMENTATIONS[m.implementation]), sizes)
    return replace(m, limit=limit, limit_ms=own, least_ms=limit.least(sizes))


def _counted(m: Measurement, layer: Layer, subject: _Subject) -> Measurement:
    """With what one more pass dispatches, launches and allocates; counted after all timing."""
    if not m.ok or m.median > LONGEST_COUNTED_MS:
        return m
    return replace(m, **asdict(count(subject.run, torch.device(layer.settings.device))))
