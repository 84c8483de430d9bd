"""The loop's heads on a pool of threads: they do run at the same time, and does it help?"""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager

import torch
from torch import nn
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from attention.config import AttentionConfig
from attention.implementations.looped import HeadResult, MultiHeadAttentionWrapper, RunHead


class HeadPool:
    """Threads for one layer's heads, started when they are first wanted.

    They end when nothing refers to the pool any more. A copy of a pool, a pickled one too,
    begins without threads. Several threads may use one pool.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._executors: dict[int, ThreadPoolExecutor] = {}

    def __reduce__(self) -> tuple[type["HeadPool"], tuple[()]]:
        return HeadPool, ()

    def of(self, workers: int) -> ThreadPoolExecutor:
        """The pool of that many threads."""
        with self._lock:  # none is shut down: another forward may be handing heads in
            if workers not in self._executors:
                self._executors[workers] = ThreadPoolExecutor(workers, thread_name_prefix="head")
            return self._executors[workers]


class ThreadedWrapper(MultiHeadAttentionWrapper):
    """The loop with each head handed to a pool of as many threads as torch may use.

    The budget stays that of the loop: torch's N threads within one operator become N heads at
    a time with one thread each, for as long as the forward takes. Torch has that number for the
    whole process, so other work is slower meanwhile; with N = 1 only the cost of handing over
    is left. The backward pass is autograd's own: head after head.

    Dropout's draws come from one stream of random numbers, whose order threads would shuffle:
    while it is active the heads run one after the other.
    """

    def __init__(self, config: AttentionConfig) -> None:
        super().__init__(config)
        self.pool = HeadPool()

    def each_head(self, run: RunHead, keys: int) -> list[HeadResult]:
        """See `MultiHeadAttentionWrapper`; a head's error is raised once all heads are done."""
        draws = self.training and self.dropout.p > 0
        if draws or len(self.heads) == 1:
            return super().each_head(run, keys)
        inside = Surroundings(next(self.parameters()).device)
        self.mask(keys, inside.device)  # made once, before the heads share it

        def work(i: int, head: nn.Module) -> HeadResult:
            with inside.entered():
                return run(i, head)

        pool = self.pool.of(min(len(self.heads), torch.get_num_threads()))
        with one_thread_an_operator():
            futures = [pool.submit(work, i, head) for i, head in enumerate(self.heads)]
            wait(futures)
        return [future.result() for future in futures]


class Surroundings:
    """What torch keeps for each thread by itself, as it is in the thread that makes this.

    Gradients on or off, inference mode, autocast and what watches the operators: a new thread
    begins without them.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._gradients = torch.is_grad_enabled()
        self._inference = torch.is_inference_mode_enabled()
        self._autocast = torch.is_autocast_enabled(device.type)
        self._narrow = torch.get_autocast_dtype(device.type)
        self._watching = _get_current_dispatch_mode_stack()  # such as a FlopCounterMode

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Run a block in another thread as in the one that made this."""
        with ExitStack() as stack:
            if self._inference:
                stack.enter_context(torch.inference_mode())
            else:
                stack.enter_context(torch.set_grad_enabled(self._gradients))
            if self._autocast:
                stack.enter_context(torch.autocast(self.device.type, self._narrow))
            if self.device.type == "cuda":
                stack.enter_context(torch.cuda.device(self.device))
            for mode in self._watching:
                stack.enter_context(mode)
            yield


@contextmanager
def one_thread_an_operator() -> Iterator[None]:
    """Run a block with one torch thread within an operator; then as many as before."""
    before = torch.get_num_threads()
    if before == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
