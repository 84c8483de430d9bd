"""How long calls take, measured fairly.

Every figure of time on the page and on the command line comes from `time_interleaved`.
"""

from collections.abc import Callable, Iterable, Mapping
from time import perf_counter, thread_time

import torch
from torch.utils.benchmark import Timer

from attention.errors import ConfigError, require_positive
from attention.memory import memory_errors_as_sentences
from attention.model import LanguageModel
from attention.tokens import Tokens

WARM_UP_CALLS = 2
LOGITS = 1 << 24  # that a timed forward pass has in memory at a time
FLUSH_BYTES = 1 << 28  # more than any GPU's L2 cache holds
Clock = Callable[[], float]
Call = Callable[[], object]


class HostStopwatch:
    """`torch.utils.benchmark.Timer` on the host's clock: CPU, and MPS once synchronized.

    Args:
        threads: torch's threads within an operator while timing; the timer sets them and
            puts the earlier number back.
        clock: seconds.
    """

    def __init__(self, threads: int, clock: Clock = perf_counter) -> None:
        self.threads = threads
        self.clock = clock

    def _timer(self, call: Call) -> Timer:
        return Timer("call()", globals={"call": call}, num_threads=self.threads, timer=self.clock)

    def warm_up(self, call: Call) -> None:
        """Call without timing: first calls allocate, compile and fill caches."""
        self._timer(call).timeit(WARM_UP_CALLS)

    def samples(self, call: Call, seconds: float) -> list[float]:
        """Milliseconds a call, for so many seconds; very short calls are averaged in blocks."""
        measured = self._timer(call).blocked_autorange(min_run_time=seconds)
        return [time * 1e3 for time in measured.times]


class CudaStopwatch:
    """CUDA events around each call, from an idle GPU with an L2 cache that is empty or not.

    The GPU is idle at each start, so that the time holds the launches of the call's kernels,
    which is most of what a loop over heads costs there. Leaves out what follows in a queue
    that is kept full.

    Args:
        device: which GPU.
        cold_l2: whether to overwrite the L2 cache before each call, as what ran before would.
    """

    def __init__(self, device: torch.device, *, cold_l2: bool = True) -> None:
        self.device = device
        flushed = FLUSH_BYTES if cold_l2 else 0
        self._flush = torch.empty(flushed, dtype=torch.int8, device=device)

    def warm_up(self, call: Call) -> None:
        """See `HostStopwatch`."""
        for _ in range(WARM_UP_CALLS):
            call()
        torch.cuda.synchronize(self.device)

    def samples(self, call: Call, seconds: float) -> list[float]:
        """Milliseconds a call, for so many seconds; each call is a sample."""
        times: list[float] = []
        with torch.cuda.device(self.device):
            while not times or sum(times) < seconds * 1e3:
                start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                self._flush.zero_()
                torch.cuda.synchronize(self.device)
                start.record()
                call()
                end.record()
                end.synchronize()
                times.append(float(start.elapsed_time(end)))
        return times


def time_interleaved(
    calls: Mapping[str, Call],
    *,
    device: str | torch.device,
    threads: int,
    rounds: int,
    min_run_time: float,
    clock: Clock = perf_counter,
    cold_l2: bool = True,
) -> dict[str, list[float]]:
    """Time some calls in turns, so that what the machine does meanwhile falls on all alike.

    Runs in inference mode; a call that needs gradients switches it off for itself.

    Args:
        calls: what to time, by name.
        device: where the calls compute.
        threads: torch's threads within an operator on a CPU.
        rounds: turns that each call gets; every turn begins with another call.
        min_run_time: seconds to sample each call for, over all rounds.
        clock: seconds; another one in tests.
        cold_l2: whether a GPU's L2 cache is emptied before each call.

    Returns:
        for each name the samples in ms, in the order in which they were taken; at least one a
        round.

    Raises:
        ConfigError: when threads or rounds is below 1, or min_run_time is not above 0.
    """
    require_positive("threads", threads)
    require_positive("rounds", rounds)
    if not min_run_time > 0:
        raise ConfigError(f"min_run_time must be above 0 seconds; got {min_run_time!r}.")
    stopwatch = _stopwatch(torch.device(device), threads, clock, cold_l2=cold_l2)
    samples: dict[str, list[float]] = {name: [] for name in calls}
    names = list(calls)
    with torch.inference_mode():  # not inherited from the thread that asks
        for name in names:
            stopwatch.warm_up(calls[name])
        for _ in range(rounds):
            for name in names:
                samples[name] += stopwatch.samples(calls[name], min_run_time / rounds)
            names = names[1:] + names[:1]
    return samples


def _stopwatch(
    device: torch.device, threads: int, clock: Clock, *, cold_l2: bool = True
) -> HostStopwatch | CudaStopwatch:
    if device.type == "cuda":
        return CudaStopwatch(device, cold_l2=cold_l2)
    if device.type == "mps":

        def synchronized() -> float:
            torch.mps.synchronize()
            return clock()

        return HostStopwatch(threads, synchronized)
    return HostStopwatch(threads, clock)


def time_forward(
    model: LanguageModel,
    tokens: Tokens,
    implementations: Iterable[str],
    *,
    num_heads: int | None = None,
    min_run_time: float = 0.05,
    rounds: int = 3,
    before_each: Call | None = None,
) -> dict[str, list[float]]:
    """Time the whole model's forward pass with its heads computed in several ways.

    Every logit is computed; of a long text those of some positions at a time, for all of them
    would be larger than the rest.
    Uses as many threads as torch uses in this process now; see `forward_clock`.

    Args:
        model: what to run.
        tokens: the text to run.
        implementations: keys of IMPLEMENTATIONS.
        num_heads: run only the first so many heads of each layer; None for all.
        min_run_time: seconds to sample each implementation for.
        rounds: turns of each implementation.
        before_each: called before each forward pass; what it raises ends the timing.

    Returns:
        for each implementation its samples in ms.

    Raises:
        ConfigError: when an implementation or that number of heads does not exist.
        TextError: when the model cannot run the tokens.
        DeviceError: when the device has no memory left.
    """
    ids = torch.tensor([model.tokens(tokens).ids], device=model.device)
    clock, _ = forward_clock(model.device)
    at_once = max(1, LOGITS // model.config.vocab_size)

    def forward(name: str) -> Call:
        layers = model.attention_layers(name, num_heads=num_heads)

        def call() -> None:
            if before_each is not None:
                before_each()
            for part in model.stream(ids, layers).split(at_once, dim=1):
                model.read_out(part)

        return call

    with memory_errors_as_sentences(model.device):
        return time_interleaved(
            {name: forward(name) for name in implementations},
            device=model.device,
            threads=torch.get_num_threads(),
            rounds=rounds,
            min_run_time=min_run_time,
            clock=clock,
        )


def forward_clock(device: torch.device) -> tuple[Clock, str]:
    """What `time_forward` reads, and its name.

    One thread on a CPU is timed by its own CPU time, which other programs do not lengthen;
    several threads, or another device, by the wall clock.
    """
    if device.type == "cpu" and torch.get_num_threads() == 1:
        return thread_time, "CPU time"
    return perf_counter, "wall clock"
