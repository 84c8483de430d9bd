from streamlit.testing.v1 import AppTest

from attention.benchmark import BenchmarkSettings, Worker
from components.parts import bench_trace
from tests.components.figures.test_trace import LOOP

SETTINGS = BenchmarkSettings(heads=(3,), d_out=15, d_in=7, seq_len=11, threads=1)


def page(timed="forward"):
    from components.parts import bench_trace
    from tests.components.figures.test_trace import LOOP

    bench_trace._show(LOOP, "looped", 2, timed=timed)


def test_answer_stands_above_the_chart_and_the_file_below():
    shown = AppTest.from_function(page).run()
    assert not shown.exception
    assert shown.markdown[0].value.startswith("**No two heads run at once")
    assert "profiler slows every operator down" in shown.caption[0].value


def test_trace_is_of_a_forward_pass_and_says_so_beside_other_times():
    """Beside decode steps of 1.08 ms stood "in 58.7 ms"."""
    shown = AppTest.from_function(page, kwargs={"timed": "decode"}).run()
    assert not shown.exception
    assert shown.caption[0].value.startswith("A forward pass over the whole text is traced")


def test_trace_comes_from_the_measuring_process():
    bench_trace._trace.clear()
    found = bench_trace._trace(SETTINGS, 3, "looped")
    assert set(found.heads) == {0, 1, 2}
    assert found.overlap == 0
    assert '"traceEvents"' in found.chrome


def test_same_question_is_answered_from_memory(monkeypatch):
    asked = []

    class Fake(Worker):
        def __init__(self, allocator):
            asked.append(allocator)

        def trace(self, settings, num_heads, implementation):
            return LOOP

        def stop(self):
            pass

    monkeypatch.setattr("attention.benchmark.Worker", Fake)
    bench_trace._trace.clear()
    assert bench_trace._trace(SETTINGS, 3, "looped") == bench_trace._trace(SETTINGS, 3, "looped")
    assert len(asked) == 1
    bench_trace._trace(SETTINGS, 5, "looped")
    assert len(asked) == 2
