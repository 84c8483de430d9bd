"""What choosing another head costs the page: bytes and messages sent, and the browser's work.

`python -m tests.bench.choice` presses an arrow key on the map of all heads again and again, and
prints medians: milliseconds from the key until the server has said the last word, what Chromium
itself counts as script, styling, layout and all tasks of the page, and how much came over the wire.
`--text` and `--model` take another; half a minute.
"""

import os
import platform
import statistics
import time
from urllib.parse import urlencode

import click
from playwright.sync_api import CDPSession, Page, sync_playwright

from attention.benchmark.environment import cpu_model
from tests.bench.peers.watching import Watched
from tests.browser.chromium import find_chromium
from tests.browser.conftest import BUILD, FLAGS
from tests.browser.server import AppServer

MAP = ".st-key-overview .map"
TASKS = {
    "script": "ScriptDuration",
    "styling": "RecalcStyleDuration",
    "layout": "LayoutDuration",
    "all tasks": "TaskDuration",
}
# Notes what comes over the page's socket, and when.
LISTEN = """(() => {
    window.received = [];
    const Plain = window.WebSocket;
    window.WebSocket = class extends Plain {
        constructor(...given) {
            super(...given);
            this.addEventListener('message', ({ data }) =>
                window.received.push([performance.now(), data.byteLength ?? data.size]));
        }
    };
    document.addEventListener('keydown', () => {
        window.received = [];
        window.pressed = performance.now();
    }, true);
})()"""
ANSWERED = """() => ({
    last: Math.max(...received.map(([at]) => at)) - pressed,
    messages: received.length,
    bytes: received.reduce((sum, [, size]) => sum + size, 0),
})"""


def chrome(session: CDPSession) -> dict[str, float]:
    """What Chromium has counted so far, in ms."""
    found = {
        entry["name"]: entry["value"] for entry in session.send("Performance.getMetrics")["metrics"]
    }
    return {name: 1e3 * found[key] for name, key in TASKS.items()}


def choose(page: Page, watched: Watched, session: CDPSession, key: str) -> dict[str, float]:
    """Press a key on the map, and wait until the page rests."""
    before = chrome(session)
    page.locator(MAP).press(key)
    time.sleep(1.0)
    after = chrome(session)
    watched.settle()
    answered: dict[str, float] = page.evaluate(ANSWERED)
    return answered | {name: after[name] - before[name] for name in TASKS}


@click.command()
@click.option("--model", default="embedded", show_default=True, help="As the address takes it.")
@click.option("--text", default="", help="The default sample where there is none.")
@click.option("--repeats", default=8, show_default=True)
def main(model: str, text: str, repeats: int) -> None:
    """What choosing another head costs the page."""
    BUILD.mkdir(exist_ok=True)
    server = AppServer(BUILD / "choice.log")
    server.start()
    asked = {"model": model, "layer": 1} | ({"text": text} if text else {})
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.add_init_script(LISTEN)
            watched = Watched(page, 120.0)
            watched.open(f"{server.url}/?{urlencode(asked)}")
            session = page.context.new_cdp_session(page)
            session.send("Performance.enable")
            choose(page, watched, session, "ArrowRight")  # warms up
            keys = ["ArrowRight", "ArrowLeft"] * repeats
            found = [choose(page, watched, session, key) for key in keys[:repeats]]
            browser.close()
    finally:
        server.stop()
    load = os.getloadavg()[0]
    print(f"{cpu_model() or platform.machine()}, {os.cpu_count()} cores, load {load:.1f}")
    print(f"{model}, medians of {repeats} choices of another head")
    middle = {name: statistics.median(one[name] for one in found) for name in found[0]}
    print(f"  {'last message':14} {middle.pop('last'):8.0f} ms after the key")
    print(f"  {'sent':14} {middle.pop('bytes') / 1e3:8.1f} KB")
    print(f"  {'messages':14} {middle.pop('messages'):8.0f}")
    for name, value in middle.items():
        print(f"  {name:14} {value:8.0f} ms")


if __name__ == "__main__":
    main()
