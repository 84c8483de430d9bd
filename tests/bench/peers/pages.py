"""Pictures of all heads in Chromium: a peer's page of patterns, and our page after a new text."""

import contextlib
import functools
import http.server
import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Error, Page, Route, TimeoutError, WebSocket

from tests.bench.peers.model import ids_of
from tests.bench.peers.modest import allowance
from tests.bench.peers.runs import GaveUpError
from tests.bench.peers.watching import Watched
from tests.browser.server import HOST, ROOT

ACTIVITY = (Path(__file__).parent / "activity.js").read_text(encoding="utf-8")
QUIET_FRAMES = 90  # without anything drawn: then it is done
Launch = Callable[[], Browser]
SIZE = {"width": 1280, "height": 800}
BOX = '[class*="st-key-text_widget"] textarea >> nth=0'


@dataclass(frozen=True)
class Drawn:
    """All heads on the screen.

    Attributes:
        ms: from asking for them until they are painted.
        sent: bytes to the browser.
        nodes: elements on the page.
    """

    ms: float
    sent: int
    nodes: int


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """A folder's files on this machine; gives the address."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None: ...

    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer((HOST, 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{HOST}:{server.server_port}"
        server.shutdown()


def made(tool: str, shape: tuple[int, int, int], path: Path, limit: float) -> float:
    """Write a peer's page. Returns what that took in ms.

    Args:
        tool: a key of MAKERS.
        shape: layers, heads in each, tokens.
        path: of the page.
        limit: seconds.

    Raises:
        GaveUpError: when it takes too long or too much memory.
    """
    module = [sys.executable, "-m", "tests.bench.peers.patterns", tool]
    command = [*module, *(str(n) for n in shape), str(path), str(allowance())]
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise GaveUpError(f"its page was not written after {limit:.0f} s") from error
    if done.returncode:
        words = "memory" in done.stderr.lower() or done.returncode < 0
        last = (done.stderr.splitlines() or [""])[-1][:100]
        raise GaveUpError("ran out of memory" if words else f"ended: {last}")
    return float(json.loads(done.stdout.splitlines()[-1])["ms"])


def draw_peer(
    launch: Launch,
    tool: str,
    shape: tuple[int, int, int],
    *,
    limit: float,
    scripts: dict[str, Path] | None = None,
) -> Drawn:
    """A peer's page, written and drawn.

    Args:
        launch: starts a Chromium, for this page alone: one that never rests cannot be left.
        tool: a key of MAKERS.
        shape: layers, heads in each, tokens.
        limit: seconds, for each of the two.
        scripts: what its page asks other machines for; without, it gets nothing from them.

    Raises:
        GaveUpError: when nothing was drawn by then.
    """
    scripts = scripts or {}
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as url:
        path = Path(folder) / "page.html"
        ms = made(tool, shape, path, limit)
        browser = launch()
        try:
            page = browser.new_page(viewport=SIZE, service_workers="block")
            asked: list[str] = []
            for name, script in scripts.items():
                page.route(f"**/{name}", functools.partial(_give, asked=asked, script=script))
            page.add_init_script(ACTIVITY)
            _wait(page, f"{url}/page.html", limit)
            sent = path.stat().st_size + sum(scripts[name].stat().st_size for name in asked)
            painted = float(page.evaluate("headscopeActivity.painted"))
            nodes = int(page.evaluate("headscopeActivity.nodes()"))
        except Error as error:
            raise GaveUpError(f"the browser ended: {str(error).splitlines()[0][:80]}") from error
        finally:
            browser.close()
    return Drawn(ms + painted, sent, nodes)


def _give(route: Route, *, asked: list[str], script: Path) -> None:
    asked.append(script.name)
    route.fulfill(path=script, content_type="text/javascript")


def _wait(page: Page, url: str, limit: float) -> None:
    try:
        page.goto(url, wait_until="commit", timeout=1e3 * limit)
        page.wait_for_function(
            "frames => headscopeActivity.rests(frames)",
            arg=QUIET_FRAMES,
            polling=250,
            timeout=1e3 * limit,
        )
    except TimeoutError as error:
        raise GaveUpError(f"not painted after {limit:.0f} s") from error


class Ours:
    """Our page, on a model without a tokenizer: texts are token ids.

    Args:
        page: an empty one.
        url: where Headscope is.
        model: the model's folder.
        limit: seconds, after which a text is given up.
    """

    def __init__(self, page: Page, url: str, model: Path, limit: float) -> None:
        self.sent = 0
        page.on("websocket", self._listen)
        self.watched = Watched(page, limit)
        self.watched.open(f"{url}/?model={model}&implementation=sdpa")
        self.seed = 0

    def _listen(self, socket: WebSocket) -> None:
        socket.on("framereceived", self._count)

    def _count(self, payload: str | bytes) -> None:
        self.sent += len(payload)

    def draw(self, length: int) -> dict[int, Drawn]:
        """Commit a text that was never there: 12 heads of a layer, and all 144, painted.

        Raises:
            GaveUpError: when that takes too long.
        """
        page, watched = self.watched.page, self.watched
        self.seed += 1
        box = page.locator(BOX)
        watched.arm("keydown", ["detail", "grid", "all"])
        self.sent = 0
        box.fill(" ".join(str(n) for n in ids_of(length, seed=self.seed)))
        box.press("Enter")
        painted = watched.painted()
        sent, nodes = self.sent, int(page.evaluate("headscopeWatch.nodes()"))
        if painted is None:
            raise GaveUpError(f"not painted after {watched.limit_ms / 1e3:.0f} s")
        watched.settle()
        grid = max(watched.parts["grid"], watched.parts["detail"])
        return {12: Drawn(grid, sent, nodes), 144: Drawn(watched.parts["all"], sent, nodes)}
