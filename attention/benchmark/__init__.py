"""What looping over heads costs against running them together, measured in a process apart."""

from attention.benchmark.environment import Environment, environment
from attention.benchmark.fit import Line, fit_line
from attention.benchmark.measurement import Measurement
from attention.benchmark.settings import BenchmarkSettings
from attention.benchmark.sweep import Worker, sweep

__all__ = [
    "BenchmarkSettings",
    "Environment",
    "Line",
    "Measurement",
    "Worker",
    "environment",
    "fit_line",
    "sweep",
]
