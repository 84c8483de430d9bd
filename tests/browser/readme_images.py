"""Take the pictures that README shows: `make images`, or some: `make images ARGS="grid"`.

They are of the product as it is, on the machine at hand; the timings in them are real.
"""

import sys
from urllib.parse import urlencode

from playwright.sync_api import Page, ViewportSize, sync_playwright

from components.samples import SAMPLES
from tests.browser.chromium import find_chromium
from tests.browser.conftest import BUILD, FLAGS, QUIET_MS, SETTLED
from tests.browser.server import ROOT, AppServer

IMAGES = ROOT / "docs" / "images"
SIZE: ViewportSize = {"width": 1280, "height": 800}
TALL: ViewportSize = {"width": 1280, "height": 1000}  # so that nothing covers a grid
ACTION_LIMIT_MS = 120_000
EXPLORE = "?layer=1&head=0&query=17"
LOOP_VS_BATCH = "?view=loop-vs-batch&heads=16&max_heads=16"
SMOLLM2 = "models/SmolLM2-135M-Instruct.gguf"
GRIDS = {  # picture: sample
    "grid-name": "repeated name",
    "grid-rhyme": "rhyme",
    "grid-random": "random twice",
}
# A chart that is drawn anew has Plotly's own height at first.
FITTED = """
() => ['grid', 'detail'].every(name => {
    const chart = document.querySelector(`.st-key-${name}_place .js-plotly-plot`);
    const place = chart?.closest(`.st-key-${name}_place`).getBoundingClientRect();
    return chart?._fullLayout && Math.abs(chart._fullLayout.height - place.height) < 1;
})
"""
# The checkpoint's own figures are drawn, in the size of their places.
FORMED = """
() => ['tiles', 'detail', 'curves'].every(name => {
    const chart = document.querySelector(`.st-key-forming_${name}_place .js-plotly-plot`);
    const place = chart?.closest(`.st-key-forming_${name}_place`).getBoundingClientRect();
    return chart?._fullLayout && Math.abs(chart._fullLayout.height - place.height) < 1;
})
"""


def settle(page: Page) -> None:
    page.evaluate("window.headscopeQuietSince = undefined")
    page.wait_for_function(SETTLED, arg=QUIET_MS, polling=50)


def take_explore(page: Page, url: str, scheme: str) -> None:
    page.goto(f"{url}/{EXPLORE}")
    settle(page)
    page.wait_for_function(FITTED)
    page.screenshot(path=IMAGES / f"explore-{scheme}.png")


def take_loop_vs_batch(page: Page, url: str, scheme: str) -> None:
    page.goto(f"{url}/{LOOP_VS_BATCH}")
    settle(page)
    page.get_by_role("button", name="Stop", exact=True).wait_for()
    page.wait_for_function(
        "() => [...document.querySelectorAll('button')]"
        ".some(button => button.innerText === 'Stop' && button.disabled)"
    )
    settle(page)
    page.screenshot(path=IMAGES / f"loop-vs-batch-{scheme}.png")


def take_trace(page: Page, url: str, scheme: str) -> None:
    """One forward pass of the loop over time."""
    page.goto(f"{url}/?view=loop-vs-batch&heads=8&max_heads=8")
    settle(page)
    page.get_by_text("Do heads ever run at once?").click()
    page.locator(".st-key-bench_trace_chart .js-plotly-plot").wait_for()
    settle(page)
    page.locator(".st-key-bench_trace").screenshot(path=IMAGES / f"trace-{scheme}.png")


def take_grids(page: Page, url: str, scheme: str) -> None:
    """The layer of the head that shows each sample best, that head framed."""
    texts = {sample.name: sample.text for sample in SAMPLES}
    for name, sample in GRIDS.items():
        page.goto(f"{url}/?{urlencode({'text': texts[sample]})}")
        settle(page)
        page.locator(".st-key-guide button").click()
        page.mouse.move(0, 0)
        settle(page)
        page.wait_for_function(FITTED)
        page.locator(".st-key-grid_place").screenshot(path=IMAGES / f"{name}-{scheme}.png")


def take_forming(page: Page, url: str, scheme: str) -> None:
    """In the middle of the bump, where the stripe of the induction heads appears."""
    text = {sample.name: sample.text for sample in SAMPLES}["random twice"]
    page.goto(f"{url}/?{urlencode({'view': 'forming', 'moment': 14, 'text': text})}")
    settle(page)
    page.wait_for_function(FORMED)
    page.screenshot(path=IMAGES / f"forming-{scheme}.png")


def open_smollm2(page: Page, url: str, text: str, **query: object) -> None:
    if not (ROOT / SMOLLM2).is_file():
        sys.exit(f"The pictures of a model of one's own need {SMOLLM2}: `make smollm2`.")
    at = {"model": SMOLLM2, "layer": 18, "head": 6, "text": text}
    page.goto(f"{url}/?{urlencode(at | query)}")


def take_own_model(page: Page, url: str, scheme: str) -> None:
    """SmolLM2, at the head that does induction best."""
    open_smollm2(page, url, {sample.name: sample.text for sample in SAMPLES}["random twice"])
    page.locator(".st-key-detail .js-plotly-plot").wait_for()
    settle(page)
    page.wait_for_function(FITTED)
    page.screenshot(path=IMAGES / f"own-model-{scheme}.png")


def take_all_heads(page: Page, url: str, scheme: str) -> None:
    """All of its 270 heads at once."""
    text = {sample.name: sample.text for sample in SAMPLES}["random twice"]
    open_smollm2(page, url, text, all_heads=1)
    page.locator('.st-key-overview_large .map[data-painted="30/30"]').wait_for()
    settle(page)
    page.screenshot(path=IMAGES / f"all-heads-{scheme}.png")


def take_long_text(page: Page, url: str, scheme: str) -> None:
    """All samples twice: the second time, every token has been there before."""
    page.set_default_timeout(5 * ACTION_LIMIT_MS)
    open_smollm2(page, url, "the", query=1000)
    settle(page)
    box = page.locator("textarea").first
    box.fill("\n".join([sample.text for sample in SAMPLES if "random" not in sample.name] * 4))
    box.press("Enter")
    page.locator(".st-key-one_head .viewer").wait_for()
    page.locator('.st-key-overview .map[data-painted="30/30"]').wait_for()
    settle(page)
    page.screenshot(path=IMAGES / f"long-text-{scheme}.png")


PICTURES = {
    "explore": take_explore,
    "loop-vs-batch": take_loop_vs_batch,
    "trace": take_trace,
    "grid": take_grids,
    "forming": take_forming,
    "own-model": take_own_model,
    "all-heads": take_all_heads,
    "long-text": take_long_text,
}


def main(wanted: list[str]) -> None:
    BUILD.mkdir(exist_ok=True)
    IMAGES.mkdir(parents=True, exist_ok=True)
    server = AppServer(BUILD / "images-server.log")
    server.start()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
            for scheme in ("light", "dark"):
                for name in wanted or PICTURES:
                    context = browser.new_context(
                        viewport=TALL if name == "grid" else SIZE,
                        color_scheme="dark" if scheme == "dark" else "light",
                        device_scale_factor=2 if name == "grid" else 1,  # README shows it small
                    )
                    context.set_default_timeout(ACTION_LIMIT_MS)
                    PICTURES[name](context.new_page(), server.url, scheme)
                    context.close()
            browser.close()
    finally:
        server.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
