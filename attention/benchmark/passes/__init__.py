"""Every kind of pass that the bench can time, in one table."""

from attention.benchmark.passes.backward import Backward
from attention.benchmark.passes.base import Given, Pass, Ready, Result
from attention.benchmark.passes.decode import Decode
from attention.benchmark.passes.forward import Forward

__all__ = ["PASSES", "Given", "Pass", "Ready", "Result"]

PASSES: dict[str, Pass] = {entry.name: entry for entry in (Forward(), Backward(), Decode())}
