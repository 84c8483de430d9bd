"""The loop with one CUDA stream a head: the GPU may run the heads' kernels at the same time."""

import torch

from attention.config import AttentionConfig
from attention.implementations.looped import HeadResult, MultiHeadAttentionWrapper, RunHead
from attention.limits import Asked


class HeadStreams:
    """One CUDA stream a head, made when they are first wanted; a copy begins without any.

    CUDA hands out 32 streams for each device: more heads than that share them.
    """

    def __init__(self) -> None:
        self._streams: dict[torch.device, list[torch.cuda.Stream]] = {}

    def __reduce__(self) -> tuple[type["HeadStreams"], tuple[()]]:
        return HeadStreams, ()

    def on(self, device: torch.device, count: int) -> list[torch.cuda.Stream]:
        """That many streams of a device, always the same."""
        streams = self._streams.setdefault(device, [])
        while len(streams) < count:
            streams.append(torch.cuda.Stream(device))
        return streams[:count]


class StreamedWrapper(MultiHeadAttentionWrapper):
    """The loop with each head's kernels on a stream of its own; only where there is CUDA.

    The CPU hands the kernels over head after head, as in the loop; whether the GPU overlaps them
    depends on how much of it one head's kernels fill. The backward pass runs on the streams of
    the forward pass: autograd sees to that.

    Source: CUDA semantics in PyTorch's notes, on streams and `record_stream`.
    """

    def __init__(self, config: AttentionConfig) -> None:
        super().__init__(config)
        self.streams = HeadStreams()

    def each_head(self, run: RunHead, keys: int) -> list[HeadResult]:
        """See `MultiHeadAttentionWrapper`; the caller's stream waits for every head."""
        device = next(self.parameters()).device
        self.mask(keys, device)  # on the caller's stream: every head reads it
        caller = torch.cuda.current_stream(device)
        streams = self.streams.on(device, len(self.heads))
        results = []
        for i, (head, stream) in enumerate(zip(self.heads, streams, strict=True)):
            stream.wait_stream(caller)  # x, the mask and the cache are there
            with torch.cuda.stream(stream):
                results.append(run(i, head))
        for result, stream in zip(results, streams, strict=True):
            caller.wait_stream(stream)
            for tensor in (result.z, result.pattern, result.q, result.k, result.v):
                if tensor is not None:  # or its memory is the stream's again while it is read
                    tensor.record_stream(caller)
        return results


def limits(asked: Asked) -> str | None:
    """Refuse a device that has no CUDA streams."""
    if asked.device.type == "cuda":
        return None
    return f"device of streams must be cuda, for it needs CUDA streams; got {asked.device}."
