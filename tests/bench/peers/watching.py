"""A page in which clicks are timed from within: `watch.js`, and what stands around it."""

import math
import time
from pathlib import Path

from playwright.sync_api import Page, TimeoutError

from tests.browser.conftest import QUIET_MS, SETTLED

WATCH = (Path(__file__).parent / "watch.js").read_text(encoding="utf-8")
OVER_MS = 5_000  # more than the page gives itself


class Watched:
    """A page that is measured.

    Args:
        page: where something is shown.
        limit_s: what takes longer is given up.
    """

    def __init__(self, page: Page, limit_s: float) -> None:
        self.page = page
        self.limit_ms = limit_s * 1e3
        self.parts: dict[str, float] = {}  # ms until each picture was another, at the last time
        page.set_default_timeout(self.limit_ms)

    def open(self, url: str) -> None:
        """Go there, and wait until it rests."""
        self.page.goto(url)
        self.page.evaluate(WATCH)
        self.settle()

    def settle(self) -> float:
        """Wait until the script rests and every layer's heads are drawn. Returns the seconds."""
        start = time.monotonic()
        self.page.evaluate("window.headscopeQuietSince = undefined")
        self.page.wait_for_function(SETTLED, arg=QUIET_MS, polling=100)
        self.page.wait_for_function("() => headscopeWatch.complete()", polling=200)
        return time.monotonic() - start

    def arm(self, event: str, changes: list[str], address: str = "") -> None:
        """Wait for an input event, and for what it is to change."""
        self.page.bring_to_front()
        wanted = {"event": event, "changes": changes, "address": address, "limit": self.limit_ms}
        self.page.evaluate("wanted => headscopeWatch.arm(wanted)", wanted)

    def painted(self) -> float | None:
        """Milliseconds from the event to the frame in which all was there; None if it never was.

        Raises:
            RuntimeError: when there was no such event.
        """
        # Asked rarely: a question each frame would itself take time from the page.
        self.page.wait_for_function(
            "() => headscopeWatch.over()", polling=100, timeout=self.limit_ms + OVER_MS
        )
        found = self.page.evaluate("headscopeWatch.result()")
        if not found["started"]:
            raise RuntimeError("the page must get the input event that is timed; it got none.")
        self.parts = found["parts"]
        return None if found["ms"] is None else float(found["ms"])


def is_there(page: Page, selector: str, within_s: float) -> bool:
    """Whether something is on the page by then."""
    try:
        page.wait_for_selector(selector, timeout=math.ceil(within_s * 1e3))
    except TimeoutError:
        return False
    return True
