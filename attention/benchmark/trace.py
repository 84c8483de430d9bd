"""One forward pass under the profiler: which head's operators ran when, and what took the time.

The profiler slows every operator down by about a microsecond, so that a trace tells the order,
the overlap and the shares, and not how long a pass takes without it.
"""

import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch._C._autograd import DeviceType
from torch.autograd.profiler_util import FunctionEvent
from torch.profiler import ProfilerActivity, profile, record_function

from attention.benchmark.intervals import overlap, union
from attention.benchmark.load import LoadMeter, disturbance, usable_cores
from attention.implementations.base import AttentionModule

FORWARD, HEAD = "forward", "head "
FEWEST_TRIES, MOST_TRIES = 3, 10
ENOUGH_S = 1.0  # of tries, beyond the fewest
LOAD_S = 0.2  # of passes before them: the system counts the load in hundredths of a second
# What the operators' own time is spent on; an operator that is not named only arranges others.
KINDS: dict[str, tuple[str, ...]] = {
    "GEMM": ("mm", "addmm", "bmm", "baddbmm", "_addmm_activation", "mkldnn_linear"),
    "softmax": ("_softmax", "_safe_softmax", "exp", "sum", "amax", "logsumexp"),
    "attention kernel": (
        "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_flash_attention",
        "_scaled_dot_product_efficient_attention",
        "_scaled_dot_product_cudnn_attention",
        "flex_attention",
    ),
    "arithmetic": ("mul", "mul_", "add", "add_", "sub", "div", "div_", "masked_fill",
                   "masked_fill_", "where", "logical_not", "bitwise_not", "tril", "triu"),
    "copies": ("copy_", "clone", "cat", "stack", "contiguous", "_to_copy", "fill_", "zero_"),
}  # fmt: skip
DISPATCH, WAITING = "dispatch", "between operators"
KIND_OF = {f"aten::{name}": kind for kind, names in KINDS.items() for name in names}


@dataclass(frozen=True)
class Operator:
    """One operator that does work of its own.

    Attributes:
        name: as the profiler has it, such as aten::mm.
        kind: a key of KINDS.
        head: whose it is; None outside any head.
        thread: the profiler's number of the thread that ran it.
        start: microseconds after the forward pass began.
        end: the same.
    """

    name: str
    kind: str
    head: int | None
    thread: int
    start: float
    end: float


@dataclass(frozen=True, kw_only=True)
class Trace:
    """What the profiler saw in one forward pass.

    Attributes:
        operators: those that do work of their own, by their start.
        heads: each head's time from its first operator to its last, where heads are computed
            apart; microseconds after the start.
        span: how long the pass took, microseconds.
        spent: microseconds of all threads by kind, of DISPATCH (operators that only arrange
            others) and of WAITING (no operator runs: Python between them).
        calls: aten:: operators dispatched, those that only arrange others among them.
        calls_in_heads: those of them that belong to a head.
        disturbed: what other programs did meanwhile, where it was too much; None when it was quiet.
        chrome: the trace as Perfetto and chrome://tracing open it, JSON.
    """

    operators: tuple[Operator, ...]
    heads: dict[int, tuple[float, float]]
    span: float
    spent: dict[str, float]
    calls: int
    calls_in_heads: int
    disturbed: str | None = None
    chrome: str = field(default="", repr=False)

    @property
    def overlap(self) -> float:
        """Microseconds in which operators of at least two heads ran at once."""
        lanes: dict[int, list[tuple[float, float]]] = {}
        for operator in self.operators:
            if operator.head is not None:
                lanes.setdefault(operator.head, []).append((operator.start, operator.end))
        return overlap(lanes.values())

    @property
    def threads_of_heads(self) -> int:
        """How many threads ran the heads' operators; what is the layer's may be on another."""
        return len({found.thread for found in self.operators if found.head is not None})

    def shares(self) -> dict[str, float]:
        """The kinds by their share of all the time spent; sums to 1."""
        total = sum(self.spent.values())
        return {kind: amount / total for kind, amount in self.spent.items()}

    def to_json(self) -> dict[str, Any]:
        """Plain types; `from_json` reads them."""
        return asdict(self)

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> "Trace":
        """Read what `to_json` wrote."""
        operators = tuple(Operator(**operator) for operator in plain["operators"])
        heads = {int(head): (start, end) for head, (start, end) in plain["heads"].items()}
        return cls(**{**plain, "operators": operators, "heads": heads})


def trace(module: AttentionModule, x: Tensor, *, warm_up: int = 3) -> Trace:
    """Profile a forward pass a few times, and keep the shortest: the least disturbed one.

    Args:
        module: any implementation.
        x: its input (batch, pos, d_in).
        warm_up: the fewest passes before it, which are not seen.
    """
    meter = LoadMeter()
    with torch.inference_mode(), heads_marked(module), meter:
        until = time.monotonic() + LOAD_S
        for _ in range(warm_up):
            module(x)
        while time.monotonic() < until:  # or nobody can tell what else the machine does
            module(x)
        _profiled(module, x)  # the profiler's own first time is slow
        tries: list[profile] = []
        began = time.monotonic()
        while len(tries) < FEWEST_TRIES or (
            len(tries) < MOST_TRIES and time.monotonic() - began < ENOUGH_S
        ):
            tries.append(_profiled(module, x))
    found = [(analyse(profiler.events() or []), profiler) for profiler in tries]
    best, profiler = min(found, key=lambda pair: pair[0].span)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        chrome = path.read_text(encoding="utf-8")
    disturbed = disturbance(meter.others, torch.get_num_threads(), usable_cores())
    return replace(best, chrome=chrome, disturbed=disturbed)


def _profiled(module: AttentionModule, x: Tensor) -> profile:
    activities = [ProfilerActivity.CPU]
    if x.device.type == "cuda":
        activities.append(ProfilerActivity.CUDA)
    settings = torch._C._profiler._ExperimentalConfig(profile_all_threads=True)
    profiler = profile(activities=activities, experimental_config=settings, acc_events=True)
    with profiler, record_function(FORWARD):
        module(x)
    return profiler


@contextmanager
def heads_marked(module: nn.Module) -> Iterator[None]:
    """Mark the time of each single head, in the modules that have such."""
    heads = getattr(module, "heads", None)
    marks: dict[int, record_function] = {}

    def enter(index: int) -> None:
        marks[index] = record_function(f"{HEAD}{index}")
        marks[index].__enter__()

    def leave(index: int) -> None:
        marks.pop(index).__exit__(None, None, None)

    with ExitStack() as hooks:
        for i, head in enumerate(heads if isinstance(heads, nn.ModuleList) else ()):
            before = head.register_forward_pre_hook(lambda *_, i=i: enter(i))
            after = head.register_forward_hook(lambda *_, i=i: leave(i))
            hooks.callback(before.remove)
            hooks.callback(after.remove)
        yield


def analyse(events: Iterable[FunctionEvent]) -> Trace:
    """Sort the profiler's events by head and kind.

    Args:
        events: of a pass that is marked FORWARD, its heads as `heads_marked` does.
    """
    on_cpu = [event for event in events if event.device_type == DeviceType.CPU]
    [whole] = [event for event in on_cpu if event.name == FORWARD]
    begin, end = whole.time_range.start, whole.time_range.end
    called = [
        event
        for event in on_cpu
        if event.name.startswith("aten::") and begin <= event.time_range.start <= end
    ]
    spent = dict.fromkeys((*KINDS, DISPATCH, WAITING), 0.0)
    operators = []
    for event in called:
        kind = KIND_OF.get(event.name, DISPATCH)
        spent[kind] += event.self_cpu_time_total
        if kind != DISPATCH:
            operators.append(_operator(event, kind, begin))
    running = union((e.time_range.start - begin, e.time_range.end - begin) for e in called)
    spent[WAITING] = max(0.0, end - begin - running)
    counted = Counter(_head(event) is not None for event in called)
    return Trace(
        operators=tuple(sorted(operators, key=lambda operator: operator.start)),
        heads={
            int(event.name.removeprefix(HEAD)): (
                event.time_range.start - begin,
                event.time_range.end - begin,
            )
            for event in on_cpu
            if event.name.startswith(HEAD)
        },
        span=end - begin,
        spent=spent,
        calls=len(called),
        calls_in_heads=counted[True],
    )


def _operator(event: FunctionEvent, kind: str, begin: float) -> Operator:
    return Operator(
        name=event.name,
        kind=kind,
        head=_head(event),
        thread=event.thread,
        start=event.time_range.start - begin,
        end=event.time_range.end - begin,
    )


def _head(event: FunctionEvent) -> int | None:
    """The head in whose mark an event lies."""
    outer = event.cpu_parent
    while outer is not None:
        if outer.name.startswith(HEAD):
            return int(outer.name.removeprefix(HEAD))
        outer = outer.cpu_parent
    return None
