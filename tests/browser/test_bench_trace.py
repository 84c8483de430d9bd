"""The trace below the Loop vs batch chart in a real browser: lanes, what they say, and the file."""

import json
import re

import pytest
from playwright.sync_api import expect

HEADS = 2
PAGE = f"?view=loop-vs-batch&d_out=6&seq_len=5&heads={HEADS}&compared=looped,batched"
LIMIT_MS = 120_000
SECTION = ".st-key-bench_trace"
CHART = ".st-key-bench_trace_chart .js-plotly-plot"
CHOSEN, AGAIN = "[role=radio][aria-checked=true]", ".st-key-bench_trace_again button"
LANES = "chart => chart.layout.yaxis.categoryarray"
LANES_ARE = f"""
lanes => document.querySelector('{CHART}')?.layout.yaxis.categoryarray.join() === lanes
"""
# How many operators each lane shows, as drawn, from what the chart was given.
DRAWN = """
chart => {
  const bars = {};
  for (const lane of chart._fullData.flatMap(trace => [...trace.y])) {
    bars[lane] = (bars[lane] ?? 0) + 1;
  }
  const drawn = chart.querySelectorAll('.barlayer .point path').length;
  return [bars, drawn];
}
"""


@pytest.fixture
def open_trace(new_page, app_server):
    """The page once it has measured, with the trace's section open."""

    def open_at(**looks):
        page = new_page(**looks)
        page.goto(f"{app_server.url}/{PAGE}")
        stop = page.locator(".st-key-bench_stop button:visible")
        expect(stop).to_be_disabled(timeout=LIMIT_MS)
        page.get_by_text("Do heads ever run at once?").click()
        expect(page.locator(CHART)).to_be_visible(timeout=LIMIT_MS)
        return page

    return open_at


def test_trace_answers_for_the_loop_and_for_the_batch(open_trace, screenshot):
    page = open_trace()
    section, chart = page.locator(SECTION), page.locator(CHART)
    expect(section).to_contain_text(f"the operators of the {HEADS} heads follow each other")
    expect(section).to_contain_text(re.compile(r"0 µs of overlap in [\d.]+ ms"))
    lanes = chart.evaluate(LANES)
    assert lanes == ["layer", "head 1", "head 0"]
    bars, drawn = chart.evaluate(DRAWN)
    assert set(bars) == set(lanes)
    assert drawn == sum(bars.values())
    chosen, again = (section.locator(place).bounding_box() for place in (CHOSEN, AGAIN))
    assert again["y"] == pytest.approx(chosen["y"], abs=1)  # it stood higher than its neighbour
    assert again["height"] == pytest.approx(chosen["height"], abs=1)
    screenshot(page, "bench-trace", full_page=True)

    with page.expect_download() as waiting:
        section.get_by_role("button", name="Trace for Perfetto").click()
    assert waiting.value.suggested_filename == f"headscope-looped-{HEADS}-heads.json"
    events = json.loads(waiting.value.path().read_text(encoding="utf-8"))["traceEvents"]
    assert {f"head {head}" for head in range(HEADS)} <= {event.get("name") for event in events}

    section.get_by_role("radio", name="Batch").click()
    expect(section).to_contain_text("Batch has no single heads", timeout=LIMIT_MS)
    page.wait_for_function(LANES_ARE, arg="all heads")
