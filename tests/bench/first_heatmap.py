"""How long until the first heatmap is drawn, and where the time goes.

`python -m tests.bench.first_heatmap` starts the product cold several times, opens it in Chromium,
and prints medians: the server's start, the page, the first heatmap (worked out beforehand), when
torch has been imported, the model's own pictures; and apart from that, each step in a process of
its own.
"""

import json
import os
import platform
import statistics
import subprocess
import sys
import time

from playwright.sync_api import Browser, sync_playwright

from tests.bench.peers import figures
from tests.browser.chromium import find_chromium
from tests.browser.conftest import BUILD, FLAGS
from tests.browser.server import ROOT, AppServer

TIMES = 3
LIMIT_MS = 120_000
HEATMAP = ".st-key-detail_place .js-plotly-plot .hm image"
IMPORTED = "torch is imported"
# The sidebar's device is known once torch is there; the strip is drawn after the pictures.
MODEL_IS_THERE = ".st-key-timing"
STEPS = """
import json, time
marks = [("start", time.perf_counter())]
def mark(name): marks.append((name, time.perf_counter()))
import streamlit; mark("import streamlit")
import plotly.graph_objects as go; go.Figure(go.Heatmap()); mark("import plotly")
import torch; mark("import torch")
from attention import load_model, head_scores
model = load_model(); mark("load the model")
from components.samples import SAMPLES
record = model.run(SAMPLES[0].text); mark("run the text")
head_scores(record); mark("score the heads")
from components import looks, theme
from components.figures.detail import Detail, detail_figure
from components.figures.drawing import as_json
look = looks.Look()
pattern = looks.shown_pattern(record, 1, 3, look)
as_json(detail_figure(Detail(pattern, record.tokens.labels, look, 1.0), theme.LIGHT))
mark("make the heatmap")
print(json.dumps({b[0]: b[1] - a[1] for a, b in zip(marks, marks[1:])}))
"""


def cold_start(browser: Browser) -> dict[str, float]:
    """Seconds since the command was given."""
    server = AppServer(BUILD / "first-heatmap.log", script="tests/bench/marked_app.py")
    mark = BUILD / "first-heatmap.mark"
    mark.unlink(missing_ok=True)
    os.environ["HEADSCOPE_MARK"] = str(mark)
    start = time.time()  # the other process has no other clock in common
    server.start()
    seconds = {"server answers": time.time() - start}
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    try:
        page.goto(server.url)
        for name, selector in (("first heatmap", HEATMAP), ("model's pictures", MODEL_IS_THERE)):
            page.wait_for_selector(selector, timeout=LIMIT_MS, state="attached")
            seconds[name] = time.time() - start
        seconds[IMPORTED] = float(mark.read_text(encoding="ascii")) - start
    finally:
        page.close()
        server.stop()
    return dict(sorted(seconds.items(), key=lambda item: item[1]))


def aim(runs: list[dict[str, float]]) -> str:
    """Whether the first picture is there before torch, in every run."""
    ahead = [run[IMPORTED] - run["first heatmap"] for run in runs]
    met = figures.verdict(min(ahead) > 0)
    return (
        f"- (c) the first heatmap is there {statistics.median(ahead):.2f} s "
        f"({min(ahead):.2f} to {max(ahead):.2f}) before torch: {met}"
    )


def steps() -> dict[str, float]:
    """Seconds of each step in a fresh process."""
    command = [sys.executable, "-c", STEPS]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def report(title: str, runs: list[dict[str, float]]) -> None:
    print(title)
    for name in runs[0]:
        values = [run[name] for run in runs]
        spread = f"({min(values):.2f} to {max(values):.2f})"
        print(f"  {name:20} {statistics.median(values):6.2f} s  {spread}")


def main() -> None:
    BUILD.mkdir(exist_ok=True)
    load = os.getloadavg()[0]
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {load:.1f}, {TIMES} cold starts")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        runs = [cold_start(browser) for _ in range(TIMES)]
        report("Since `streamlit run`:", runs)
        print(aim(runs))
        browser.close()
    report("Each step by itself:", [steps() for _ in range(TIMES)])


if __name__ == "__main__":
    main()
