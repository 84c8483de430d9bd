"""Measures every implementation at one head count: checks first, then times in turns."""

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import torch

from attention.benchmark.layer import Layer, build, call, check, describe_weights, prepare
from attention.benchmark.load import LoadMeter, disturbance, usable_cores
from attention.benchmark.measurement import Measurement
from attention.benchmark.settings import BenchmarkSettings
from attention.devices import find_device
from attention.errors import DeviceError
from attention.implementations import IMPLEMENTATIONS
from attention.implementations.base import AttentionModule
from attention.memory import memory_errors_as_sentences
from attention.timing import Clock, time_interleaved


@dataclass(frozen=True)
class _Subject:
    """An implementation that was found right and waits to be timed."""

    module: AttentionModule
    facts: dict[str, Any]


def measure(settings: BenchmarkSettings, num_heads: int) -> Iterator[Measurement]:
    """Check and time each implementation at one head count.

    One that differs from the exact result, or has too little memory, gets no time.

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
        facts: dict[str, Any] = {"implementation": name, **sizes}
        try:
            with memory_errors_as_sentences(torch.device(settings.device)):
                subject = _examine(layer, name, facts)
        except DeviceError as error:
            yield Measurement(**facts, error=str(error))
            continue
        if subject.facts["equal"]:
            subjects[name] = subject
        else:
            yield Measurement(**subject.facts, error=_wrong(subject.facts))
    yield from _time(layer, subjects)


def clock_of(settings: BenchmarkSettings) -> Clock:
    """What measures the time.

    With one thread on a CPU it is this process's CPU time, which stands still while another
    program has the core; with several threads, or on another device, the wall clock.
    """
    return time.process_time if settings.on_one_core else time.perf_counter


def _examine(layer: Layer, name: str, facts: dict[str, Any]) -> _Subject:
    module = build(layer, name)
    found = asdict(check(layer, module))
    output = (layer.settings.batch, layer.settings.seq_len, layer.config.d_model)
    return _Subject(
        module, {**facts, **found, "weights": describe_weights(module), "output": output}
    )


def _wrong(facts: dict[str, Any]) -> str:
    title = IMPLEMENTATIONS[facts["implementation"]].title
    pattern = facts["pattern_difference"]
    also = "" if pattern is None else f" and its pattern by {pattern:.2g}"
    return (
        f"{title} computed something else at {facts['num_heads']} heads: its output differs by "
        f"{facts['output_difference']:.2g}{also} (tolerance {facts['tolerance']:.2g}). Not timed."
    )


def _time(layer: Layer, subjects: dict[str, _Subject]) -> Iterator[Measurement]:
    settings = layer.settings
    calls = {name: call(layer, subject.module) for name, subject in subjects.items()}
    meter = LoadMeter()
    try:
        with meter, memory_errors_as_sentences(torch.device(settings.device)):
            samples = time_interleaved(
                calls,
                device=settings.device,
                threads=settings.threads,
                rounds=settings.rounds,
                min_run_time=settings.min_run_time,
                clock=clock_of(settings),
            )
    except DeviceError as error:
        for subject in subjects.values():
            yield Measurement(**subject.facts, error=str(error))
        return
    disturbed = disturbance(meter.others, settings.threads, usable_cores())
    for name, subject in subjects.items():
        yield Measurement(
            **subject.facts,
            samples=tuple(samples[name]),
            others=meter.others,
            disturbed=disturbed,
        )
