"""What the Loop vs batch page shows of each point, of which implementations, over what."""

import json

import pytest

from attention.benchmark import environment
from attention.benchmark.export import to_json
from components import live, theme
from components.parts import bench_overlay
from tests.components.bench_builders import point, settings
from tests.components.bench_page import measured, open_page, table, words


def over(monkeypatch):
    """The figures that are drawn over the chart, the newest last."""
    figures = []
    mount = live.mount

    def note(name, key, data, *given, **more):
        if name == "live_chart":
            figures.append(json.loads(data["figure"]))
        return mount(name, key, data, *given, **more)

    monkeypatch.setattr(live, "mount", note)
    return figures


def test_chart_and_table_can_show_something_else(workers, monkeypatch):
    figures = over(monkeypatch)
    page = measured(open_page(d_out=48, heads=2))
    page.session_state["figure"] = "operators"
    measured(page.run())
    assert list(table(page)["Loop, operators"]) == ["10", "20"]
    assert figures[-1]["layout"]["yaxis"]["title"]["text"] == "operators per forward pass"
    assert page.query_params["figure"] == "operators"


def test_other_implementations_are_in_the_address(workers):
    page = measured(open_page(d_out=48, heads=1, compared="sdpa,looped"))
    assert [m for m in table(page) if m.endswith("ms (p10–p90)")] == [
        "Loop, ms (p10–p90)",
        "SDPA, ms (p10–p90)",
    ]


@pytest.mark.parametrize(("asked", "told"), [("looped,<b>", "got '<b>'"), (",", ""), ("", "")])
def test_implementation_that_there_is_not_is_told(workers, asked, told):
    page = open_page(d_out=48, heads=1, compared=asked)
    assert told in words(page)
    assert "Loop, ms (p10–p90)" in table(measured(page))


def test_kv_heads_leave_their_multiples(workers):
    page = measured(open_page(d_out=48, heads=6, kv_heads=3))
    assert list(table(page)["Heads"]) == ["3", "6"]


@pytest.mark.parametrize(("kv_heads", "rule"), [(5, "divide d_out 48"), (32, "at most 16")])
def test_kv_heads_that_no_layer_can_have_are_told(workers, kv_heads, rule):
    page = open_page(d_out=48, heads=2, kv_heads=kv_heads)
    said = words(page)  # said once: not when the page has run again
    assert rule in said
    assert f"got {kv_heads}. Each head has its own instead" in said
    assert list(table(measured(page))["Heads"]) == ["1", "2"]


def result_file(**changes):
    asked = settings(**changes)
    found = [point(asked, name, 2, samples=(0.75,)) for name in asked.implementations]
    return to_json(asked, environment(asked), found).encode()


class Uploaded:
    """A file as the uploader gives it."""

    def __init__(self, data):
        self.getvalue = lambda: data


def upload(page, data):
    """Choose a file; AppTest does not open the popover that asks for it."""
    kept = {bench_overlay.FILE: Uploaded(data)}
    if bench_overlay.KEPT in page.session_state:
        kept[bench_overlay.KEPT] = page.session_state[bench_overlay.KEPT]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench_overlay.st, "session_state", kept)
        bench_overlay._take()
    for key in (bench_overlay.KEPT, bench_overlay.REFUSED):
        page.session_state[key] = kept.get(key)
    return page.run()


def test_other_run_is_laid_over_this_one(workers, monkeypatch):
    figures = over(monkeypatch)
    page = measured(open_page(d_out=48, seq_len=11, heads=2))
    measured(upload(page, result_file()))
    assert any(trace.get("name", "").startswith("Dotted: ") for trace in figures[-1]["data"])
    assert "Loop 0.750 ms against 1.50 ms here (0.500×)" in words(page)


def test_other_run_of_something_else_is_told(workers):
    page = measured(open_page(d_out=48, seq_len=11, heads=2))
    assert "seq_len 64 (here 11)" in words(measured(upload(page, result_file(seq_len=64))))


def test_file_that_is_no_result_is_refused_and_the_one_before_stays(workers):
    page = measured(open_page(d_out=48, seq_len=11, heads=2))
    upload(page, result_file(seq_len=11))
    measured(upload(page, b"{}"))
    assert page.session_state[bench_overlay.REFUSED].startswith("result file must be of the format")
    assert "Loop 0.750 ms against 1.50 ms here (0.500×)" in words(page)


def test_a_decode_step_is_timed_where_the_address_says_so(workers, monkeypatch):
    figures = over(monkeypatch)
    page = measured(open_page(d_out=48, seq_len=11, heads=2, passes="decode"))
    assert figures[-1]["layout"]["yaxis"]["title"]["text"] == "ms per decode step"
    assert "Input (1, 1, 48)" in words(page)
    assert page.query_params["passes"] == "decode"


def test_picture_is_offered_once_something_is_measured(workers, monkeypatch):
    shown, mount = [], live.mount

    def note(name, key, data, *given, **more):
        if name == "picture":
            shown.append(data)
        return mount(name, key, data, *given, **more)

    monkeypatch.setattr(live, "mount", note)
    workers.open_gate = False
    page = open_page(d_out=48, seq_len=11, heads=2, passes="backward")
    assert shown[-1]["disabled"]
    for worker in workers:
        worker.gate.set()
    measured(page)
    assert shown[-1] == {
        "chart": "bench_chart",
        "name": "headscope-backward-total-48-11-tokens",
        "background": theme.LIGHT.page,
        "disabled": False,
    }
