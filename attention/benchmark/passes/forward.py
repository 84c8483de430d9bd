"""A forward pass over a whole text, as in reading a prompt."""

import torch

from attention.benchmark.passes.base import Given, Pass, Ready, Result
from attention.implementations.base import AttentionModule
from attention.implementations.batched import BatchedAttention


class Forward(Pass):
    """x to the output, without gradients."""

    name = "forward"
    title = "Forward"
    summary = "A forward pass over the text."
    unit = "forward pass"

    def exact(self, module: BatchedAttention, given: Given) -> Result:
        """See `Pass`."""
        with torch.inference_mode():
            return Result(*module(given.x, need_pattern=True))

    def ready(self, module: AttentionModule, given: Given) -> Ready:
        """See `Pass`."""
        return Ready(
            run=lambda: module(given.x),
            read=Result,
            with_pattern=lambda: module(given.x, need_pattern=True),
        )
