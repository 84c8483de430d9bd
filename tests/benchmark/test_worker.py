import json

import torch

from attention.benchmark import BenchmarkSettings, worker
from attention.benchmark.worker import answer


def ask(num_heads, **changes):
    values = {"heads": (3,), "d_out": 15, "d_in": 7, "seq_len": 11, "min_run_time": 1e-4}
    settings = BenchmarkSettings(**(values | changes), rounds=1)
    request = {"settings": settings.to_json(), "num_heads": num_heads}
    return [json.loads(json.dumps(line)) for line in answer(json.loads(json.dumps(request)))]


def test_answer_is_a_line_for_each_implementation_and_an_end():
    lines = ask(3, implementations=("looped", "sdpa"))
    assert [m["measurement"]["implementation"] for m in lines[:-1]] == ["looped", "sdpa"]
    assert lines[-1] == {"done": True}


def test_no_more_threads_are_used_than_asked_for(monkeypatch):
    """The exact result took all cores, and the page stood still meanwhile."""
    asked = []
    monkeypatch.setattr(torch, "set_num_threads", asked.append)
    monkeypatch.setattr(worker, "measure", lambda *_: asked.append("measuring") or iter(()))
    ask(3, threads=3)
    assert asked == [3, "measuring"]


def test_refusal_is_one_sentence_and_an_end():
    refusal, end = ask(4)
    assert refusal["error"].startswith("d_out must be divisible by num_heads")
    assert end == {"done": True}
