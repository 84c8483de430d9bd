"""The Loop vs batch page in a real browser: it grows live, stops at once, and never flickers."""

import re
import time
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import expect

SMALL = "view=loop-vs-batch&d_out=48&seq_len=11"
MEASURED_MS = 120_000
PROC = Path("/proc")
HEADS = ".st-key-grid .js-plotly-plot"  # on the Explore page
CHART = ".st-key-bench_chart .js-plotly-plot"
# What each chart has shown at every frame: whether it was there, and how many points the loop had.
WATCH = """
() => {
  window.seen = [];
  const look = () => {
    const chart = document.querySelector('.st-key-bench_chart .js-plotly-plot');
    const loop = chart?.data?.find(t => t.legendgroup === 'looped' && t.hovertext);
    const drawn = chart?.querySelectorAll('.scatterlayer .trace').length ?? 0;
    const entry = [Boolean(chart && chart.clientHeight), loop?.x?.length ?? 0, drawn > 0];
    if (JSON.stringify(entry) !== JSON.stringify(window.seen.at(-1))) window.seen.push(entry);
    window.watching = requestAnimationFrame(look);
  };
  look();
}
"""
# Presses Stop and tells how many ms later it is greyed out: as long as the reader's wait.
STOPPED_MS = """
() => new Promise(done => {
  const button = () => [...document.querySelectorAll('.st-key-bench_stop button')]
    .find(found => found.offsetParent);
  const begun = performance.now();
  const look = () => {
    if (button()?.disabled) done(performance.now() - begun);
    else requestAnimationFrame(look);
  };
  button().click();
  look();
})
"""
STOP_LIMIT_MS = 500
# The size of the loop's points, px.
MARKER = """
(chart => document.querySelector(chart)?.data
  ?.find(t => t.legendgroup === 'looped' && t.hovertext).marker.size)
"""
STOPS = 3  # the quickest counts: what else this machine does makes it slower, never quicker


def button(page, name):
    """A button of the page; with a help text Streamlit makes two, of which one shows."""
    return page.locator(f".st-key-bench_{name} button:visible")


def stop(page):
    return button(page, "stop")


def wait_until_measured(page):
    expect(stop(page)).to_be_disabled(timeout=MEASURED_MS)


def expect_points(page, count):
    """Stop is greyed out before the last point is drawn: on a slow machine they are seen apart."""
    page.wait_for_function(
        """([chart, count]) => document.querySelector(chart).data
             .find(t => t.legendgroup === 'looped' && t.hovertext).x.length === count""",
        arg=[CHART, count],
        timeout=MEASURED_MS,
    )


@pytest.fixture
def open_bench(new_page, app_server):
    """Open the page without waiting until it has measured."""

    def open_at(query=SMALL, **looks):
        page = new_page(**looks)
        page.goto(f"{app_server.url}/?{query}")
        page.wait_for_selector(CHART, timeout=MEASURED_MS)
        return page

    return open_at


def test_heads_are_added_and_the_chart_grows_without_flicker(open_bench, screenshot):
    page = open_bench(f"{SMALL}&heads=2")
    wait_until_measured(page)
    expect_points(page, 2)
    page.evaluate(WATCH)
    button(page, "more").click()
    page.wait_for_function("() => window.seen.some(([, n]) => n === 3)", timeout=MEASURED_MS)
    seen = page.evaluate("window.seen")
    grown = seen[: 1 + next(i for i, (_, n, _) in enumerate(seen) if n == 3)]
    assert all(there and drawn for there, _, drawn in grown), seen
    wait_until_measured(page)
    expect_points(page, 3)
    assert "heads=3" in page.url
    screenshot(page, "loop-vs-batch")


def test_sweep_grows_point_by_point_on_one_chart(open_bench):
    page = open_bench(f"{SMALL}&heads=1&max_heads=8")
    wait_until_measured(page)
    page.evaluate(WATCH)
    button(page, "sweep").click()
    expect(stop(page)).to_be_enabled()
    wait_until_measured(page)
    page.wait_for_function("() => window.seen.at(-1)[1] === 4")
    counts = [count for there, count, _ in page.evaluate("window.seen") if there and count]
    assert counts == sorted(counts)
    assert {1, 2, 4} <= set(counts) | {3}


def test_stop_ends_at_once_and_keeps_the_points(open_bench, screenshot):
    # 256 heads at this length take minutes.
    page = open_bench("view=loop-vs-batch&d_out=256&seq_len=11&heads=1")
    wait_until_measured(page)
    page.goto(page.url.replace("seq_len=11", "seq_len=4096").replace("heads=1", "heads=8"))
    expect(stop(page)).to_be_enabled(timeout=MEASURED_MS)
    waits = [page.evaluate(STOPPED_MS)]
    expect(page.get_by_text(re.compile("^Stopped"))).to_be_visible()
    screenshot(page, "loop-vs-batch-stopped")
    button(page, "resume").click()  # which did nothing
    expect(stop(page)).to_be_enabled()
    while min(waits) > STOP_LIMIT_MS and len(waits) < STOPS:
        waits.append(page.evaluate(STOPPED_MS))
        button(page, "resume").click()
        expect(stop(page)).to_be_enabled()
    assert min(waits) <= STOP_LIMIT_MS, waits


def test_measuring_leaves_the_other_page_free(open_bench):
    page = open_bench("view=loop-vs-batch&d_out=256&seq_len=4096&heads=8")
    expect(stop(page)).to_be_enabled(timeout=MEASURED_MS)
    page.get_by_text("Explore", exact=True).click()
    expect(page.locator(HEADS)).to_be_visible(timeout=MEASURED_MS)


def test_measuring_leaves_another_tab_free(open_bench, new_page, app_server):
    busy = open_bench("view=loop-vs-batch&d_out=256&seq_len=4096&heads=8")
    expect(stop(busy)).to_be_enabled(timeout=MEASURED_MS)
    other = new_page()
    other.goto(app_server.url)
    expect(other.locator(HEADS)).to_be_visible(timeout=MEASURED_MS)
    expect(stop(busy)).to_be_enabled()


@pytest.mark.skipif(not PROC.exists(), reason="lists processes as Linux does")
def test_closing_the_tab_ends_its_measuring(open_bench, app_server):
    page = open_bench("view=loop-vs-batch&d_out=256&seq_len=4096&heads=8")
    expect(stop(page)).to_be_enabled(timeout=MEASURED_MS)
    deadline = time.monotonic() + 60
    while not workers(app_server):
        assert time.monotonic() < deadline, "no process measures"
        page.wait_for_timeout(100)
    page.context.close()
    while workers(app_server):
        assert time.monotonic() < deadline, "the process outlives its tab"
        time.sleep(0.1)


def workers(server):
    """The measuring processes that a server has started."""
    found = []
    for process in PROC.glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            command = (process / "cmdline").read_bytes().split(b"\0")
            parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
            if b"attention.benchmark.worker" in command and int(parent) == server.process.pid:
                found.append(process.name)
    return found


def test_address_restores_the_page(open_bench):
    page = open_bench(f"{SMALL}&heads=2&reading=per_head&d_out_per_head=5")
    wait_until_measured(page)
    page.reload()
    page.wait_for_selector(CHART, timeout=MEASURED_MS)
    expect(page.get_by_text("the layer grows with the heads: both lines rise")).to_be_visible()
    wait_until_measured(page)
    expect_points(page, 2)
    expect(
        page.get_by_text(re.compile("With 5 features a head the layer itself grows"))
    ).to_be_visible()


def test_numbers_can_be_downloaded(open_bench):
    page = open_bench(f"{SMALL}&heads=2")
    wait_until_measured(page)
    for kind, start in (("csv", "num_heads,implementation"), ("json", "{")):
        with page.expect_download() as waiting:
            button(page, kind).click()
        assert waiting.value.path().read_text(encoding="utf-8").startswith(start)


def test_chart_can_be_saved_as_a_picture(open_bench):
    page = open_bench(f"{SMALL}&heads=2")
    wait_until_measured(page)
    files = page.locator(".st-key-bench_files")
    saved = {}
    for kind in ("PNG", "SVG"):
        with page.expect_download() as waiting:
            files.get_by_role("button", name=kind, exact=True).click()
        assert (
            waiting.value.suggested_filename
            == f"headscope-forward-total-48-11-tokens.{kind.lower()}"
        )
        saved[kind] = waiting.value.path().read_bytes()
    assert saved["PNG"].startswith(b"\x89PNG")
    assert int.from_bytes(saved["PNG"][16:20]) >= 1920  # px wide, as for a slide
    svg = saved["SVG"].decode()
    assert svg.startswith("<svg")
    assert "ms per forward pass" in svg
    assert "Source Sans" not in svg  # laid out in a font that the picture has not


def test_chart_can_show_something_else(open_bench):
    page = open_bench(f"{SMALL}&heads=2")
    wait_until_measured(page)
    page.locator('[class*="st-key-figure_widget"]').get_by_text("Operators", exact=True).click()
    page.wait_for_function(
        """chart => document.querySelector(chart)?.layout?.yaxis?.title?.text
            === 'operators per forward pass'""",
        arg=CHART,
    )
    expect_points(page, 2)
    assert "figure=operators" in page.url


def test_another_run_is_laid_over_this_one(open_bench, screenshot, tmp_path):
    page = open_bench(f"{SMALL}&heads=3")
    wait_until_measured(page)
    with page.expect_download() as waiting:
        button(page, "json").click()
    mine = tmp_path / "mine.json"
    waiting.value.save_as(mine)
    lab = mine.read_text(encoding="utf-8").replace('"device": "cpu"', '"device": "cuda:0"')
    mine.write_text(lab.replace('"device_title": "CPU"', '"device_title": "Lab GPU"'))
    page.get_by_text("Overlay", exact=True).click()
    page.locator(".st-key-bench_file input[type=file]").set_input_files(mine)
    expect(page.get_by_text(re.compile("on Lab GPU, float32: Loop .* ms here"))).to_be_visible()
    page.keyboard.press("Escape")
    dotted = page.evaluate(
        "chart => document.querySelector(chart).data.filter(t => t.line?.dash === 'dot').length",
        CHART,
    )
    assert dotted == 4  # three implementations, and what names the machine
    screenshot(page, "loop-vs-batch-overlay")


@pytest.mark.parametrize(
    ("width", "dark", "name"),
    [(1280, True, "loop-vs-batch-dark"), (480, False, "loop-vs-batch-480")],
)
def test_page_fits_its_window(open_bench, screenshot, width, dark, name):
    page = open_bench(f"{SMALL}&heads=4", width=width, dark=dark)
    wait_until_measured(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    chart = page.locator(CHART).bounding_box()
    assert chart["x"] >= 0
    assert chart["x"] + chart["width"] <= width
    screenshot(page, name)


def test_text_and_marks_grow_with_the_window(open_bench):
    """On a projector's window they were as small as on a laptop's."""
    page = open_bench(f"{SMALL}&heads=1&compared=looped,batched")
    wait_until_measured(page)
    small = page.evaluate(MARKER, CHART)
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.wait_for_function(f"([chart, size]) => {MARKER}(chart) >= 1.5 * size", arg=[CHART, small])
    expect_points(page, 1)


def test_signs_on_the_axis_leave_it_its_numbers_on_a_high_window(open_bench):
    """A chart that is enlarged a little asked for a fraction of a pixel, which Plotly drops."""
    page = open_bench(f"{SMALL}&heads=2", height=1000)
    wait_until_measured(page)
    standoff = "chart => document.querySelector(chart)._fullLayout.xaxis.ticklabelstandoff"
    assert page.evaluate(standoff, CHART) >= 9


def test_settings_behind_more_show_what_is_set(open_bench):
    """What is drawn before the popover opens showed its default, not the state."""
    page = open_bench(f"{SMALL}&heads=1&max_heads=12")
    wait_until_measured(page)
    page.get_by_text("More", exact=True).click()
    expect(page.locator('[class*="st-key-max_heads_widget"] input').first).to_have_value("12")
    page.locator('[class*="st-key-batch_widget"]').get_by_test_id("stNumberInputStepUp").click()
    expect(page.get_by_text(re.compile(r"Input \(2, 11, 48\)"))).to_be_visible()
    assert "batch=2" in page.url
