"""Take the pictures that README shows: `make images`.

They are of the product as it is, on the machine at hand; the timings in them are real.
"""

from playwright.sync_api import Page, sync_playwright

from tests.browser.chromium import find_chromium
from tests.browser.conftest import BUILD, FLAGS, QUIET_MS, SETTLED
from tests.browser.server import ROOT, AppServer

IMAGES = ROOT / "docs" / "images"
WIDTH, HEIGHT = 1280, 800
ACTION_LIMIT_MS = 120_000
EXPLORE = "?layer=1&head=3&query=17"
LOOP_VS_BATCH = "?view=loop-vs-batch&heads=16&max_heads=16"


def settle(page: Page) -> None:
    page.evaluate("window.headscopeQuietSince = undefined")
    page.wait_for_function(SETTLED, arg=QUIET_MS, polling=50)


def take(page: Page, address: str, name: str) -> None:
    page.goto(address)
    settle(page)
    if "loop-vs-batch" in name:
        page.get_by_role("button", name="Stop", exact=True).wait_for()
        page.wait_for_function(
            "() => [...document.querySelectorAll('button')]"
            ".some(button => button.innerText === 'Stop' && button.disabled)"
        )
        settle(page)
    IMAGES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=IMAGES / f"{name}.png")


def main() -> None:
    BUILD.mkdir(exist_ok=True)
    server = AppServer(BUILD / "images-server.log")
    server.start()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
            for scheme in ("light", "dark"):
                context = browser.new_context(
                    viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme
                )
                context.set_default_timeout(ACTION_LIMIT_MS)
                page = context.new_page()
                take(page, f"{server.url}/{EXPLORE}", f"explore-{scheme}")
                take(page, f"{server.url}/{LOOP_VS_BATCH}", f"loop-vs-batch-{scheme}")
                context.close()
            browser.close()
    finally:
        server.stop()


if __name__ == "__main__":
    main()
