"""The trace of a forward pass: lanes, overlap, counts and shares."""

import json
from dataclasses import replace

import pytest
import torch
from torch.autograd.profiler_util import FunctionEvent

from attention.benchmark import trace as module
from attention.benchmark.trace import (
    DISPATCH,
    FORWARD,
    KIND_OF,
    KINDS,
    WAITING,
    Trace,
    analyse,
    heads_marked,
    trace,
)
from attention.config import AttentionConfig
from tests.implementations.contract import build, sequence


def event(name, start, end, *, parent=None, thread=1):
    """What the profiler tells of one operator."""
    made = FunctionEvent(id=0, name=name, thread=thread, start_us=start, end_us=end)
    if parent is not None:
        parent.append_cpu_child(made)
        made.set_cpu_parent(parent)
    return made


def two_heads(second_start):
    """A pass from 100 to 200 µs with a GEMM in each head; head 1's on another thread."""
    whole = event(FORWARD, 100, 200)
    first = event("head 0", 110, 150, parent=whole)
    second = event("head 1", second_start, second_start + 30, thread=2)
    linear = event("aten::linear", 112, 142, parent=first)
    return [
        whole,
        first,
        second,
        linear,
        event("aten::mm", 115, 135, parent=linear),
        event("aten::mm", second_start + 5, second_start + 25, parent=second, thread=2),
        event("aten::cat", 190, 195, parent=whole),
        event("aten::mm", 50, 60),  # before the pass
    ]


def test_overlap_counts_only_operators_of_different_heads():
    apart, at_once = analyse(two_heads(150)), analyse(two_heads(120))
    assert apart.overlap == 0
    assert at_once.overlap == 10  # 115 to 135 and 125 to 145
    assert at_once.threads_of_heads == 2


def test_every_microsecond_is_spent_on_something():
    found = analyse(two_heads(150))
    assert found.span == 100
    assert found.spent["GEMM"] == 40
    assert found.spent["copies"] == 5
    assert found.spent[DISPATCH] == 10
    assert found.spent[WAITING] == 100 - 30 - 20 - 5
    assert sum(found.shares().values()) == pytest.approx(1)


def test_operators_are_counted_by_where_they_belong():
    found = analyse(two_heads(150))
    assert (found.calls, found.calls_in_heads) == (4, 3)
    assert found.heads == {0: (10, 50), 1: (50, 80)}
    assert [operator.head for operator in found.operators] == [0, 1, None]
    assert found.operators[0].start == 15


def test_no_operator_is_of_two_kinds():
    assert len(KIND_OF) == sum(len(names) for names in KINDS.values())


def test_trace_survives_json():
    found = replace(analyse(two_heads(120)), chrome="{}")
    assert Trace.from_json(json.loads(json.dumps(found.to_json()))) == found


# ------------------------------------------------------------------ a real pass


@pytest.fixture(scope="module")
def layer():
    return AttentionConfig.total(7, 15, 3, 13)


def test_load_of_other_programs_is_told(layer, monkeypatch):
    seen = []

    def busy(others, threads, cores):
        seen.append((others, threads, cores))
        return "other programs kept 2.0 of 2 cores busy"

    monkeypatch.setattr(module, "disturbance", busy)
    assert trace(build("looped", layer), sequence()).disturbed is not None
    [(others, threads, _)] = seen
    assert threads == torch.get_num_threads()
    assert others is None or others >= 0


def test_heads_of_the_loop_run_one_after_the_other(layer):
    found = trace(build("looped", layer), sequence())
    assert set(found.heads) == {0, 1, 2}
    assert found.overlap == 0
    assert found.spent["GEMM"] > 0
    assert found.spent["softmax"] > 0
    ends = [found.heads[head][1] for head in range(3)]
    starts = [found.heads[head][0] for head in range(3)]
    assert ends[0] <= starts[1]
    assert ends[1] <= starts[2]


def test_operators_of_the_loop_grow_with_the_heads_and_those_of_the_batch_do_not(layer):
    more = replace(layer, num_heads=6, num_kv_heads=6, d_model=30)
    loops = [trace(build("looped", config), sequence()) for config in (layer, more)]
    batches = [trace(build("batched", config), sequence()) for config in (layer, more)]
    assert loops[1].calls_in_heads == 2 * loops[0].calls_in_heads > 0
    assert batches[0].calls == batches[1].calls
    assert batches[0].heads == {}


def test_the_file_for_a_viewer_holds_the_heads(layer):
    chrome = json.loads(trace(build("looped", layer), sequence()).chrome)
    assert {f"head {i}" for i in range(3)} <= {e.get("name") for e in chrome["traceEvents"]}


def test_marks_are_taken_off_again(layer):
    module = build("looped", layer)
    with heads_marked(module):
        assert module.heads[0]._forward_hooks
    assert not module.heads[0]._forward_hooks
    assert not module.heads[0]._forward_pre_hooks
