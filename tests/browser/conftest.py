"""A running Headscope and a real Chromium.

`open_app("?layer=1", width=480, dark=True)` gives a page that has settled; `screenshot(page, name)`
keeps a picture in build/screenshots. A test fails if its pages ask anything of another machine or
write an error to the console: `page_watch` has both lists.
"""

import re

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.browser.chromium import NoChromiumError, find_chromium
from tests.browser.server import ROOT, AppServer
from tests.browser.watch import PageWatch

BUILD = ROOT / "build"
SCREENSHOTS = BUILD / "screenshots"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # No name but this machine's leads anywhere.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]
TEST_LIMIT_S = 300
# A shared CI core may take this long for what takes a second elsewhere.
ACTION_LIMIT_MS = 60_000
expect.set_options(timeout=ACTION_LIMIT_MS)
QUIET_MS = 400
# The script rests, and nothing on the page is stale or still being loaded; all that for a while,
# because a click takes a moment to start the script.
SETTLED = """
quiet => {
    const app = document.querySelector('[data-testid="stApp"]');
    const busy = !app || app.dataset.testScriptState !== 'notRunning'
        || document.querySelector('[data-stale="true"], [data-testid="stSkeleton"]');
    const now = performance.now();
    if (busy || window.headscopeQuietSince === undefined) window.headscopeQuietSince = now;
    return !busy && now - window.headscopeQuietSince > quiet;
}
"""


def pytest_itemcollected(item):
    """Mark every test of this folder, and give it more time."""
    item.add_marker(pytest.mark.browser)
    if item.get_closest_marker("timeout") is None:
        item.add_marker(pytest.mark.timeout(TEST_LIMIT_S))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Run the tests of this folder after all the others.

    Playwright keeps an event loop running in this thread, in which code that starts one of its own
    (Streamlit's AppTest among it) would fail; and the others are quicker.
    """
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Let the fixtures know whether the test failed."""
    report = yield
    if report.when == "call":
        item.headscope_failed = report.failed
    return report


@pytest.fixture(scope="session")
def chromium():
    path = find_chromium()
    if path is None:
        raise NoChromiumError("The browser tests need a Chromium; `make test` provides one.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, headless=True, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def app_server():
    """The server that the tests share; what it wrote is in build/server.log."""
    BUILD.mkdir(exist_ok=True)
    log = BUILD / "server.log"
    log.unlink(missing_ok=True)
    server = AppServer(log)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def own_server(tmp_path):
    """A server that the test may stop and start again."""
    server = AppServer(tmp_path / "server.log")
    server.start()
    yield server
    server.stop()


@pytest.fixture
def page_watch():
    watch = PageWatch()
    yield watch
    if complaints := watch.complaints():
        pytest.fail("\n".join(complaints), pytrace=False)


@pytest.fixture
def new_page(chromium, page_watch, request):
    """Open an empty page of the given size and colour scheme. A failed test leaves pictures."""
    contexts = []

    def open_page(*, width=1280, height=800, dark=False):
        context = chromium.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            service_workers="block",
        )
        context.set_default_timeout(ACTION_LIMIT_MS)
        page_watch.attach(context)
        contexts.append(context)
        return context.new_page()

    yield open_page
    for number, context in enumerate(contexts):
        if getattr(request.node, "headscope_failed", False) and context.pages:
            name = re.sub(r"\W+", "-", request.node.name).strip("-")
            picture = SCREENSHOTS / f"failed-{name}-{number}.png"
            context.pages[-1].screenshot(path=picture)
        context.close()


@pytest.fixture
def settle():
    """Wait until the page has settled: `settle(page)`."""

    def wait(page):
        page.evaluate("window.headscopeQuietSince = undefined")
        page.wait_for_function(SETTLED, arg=QUIET_MS, polling=50)

    return wait


@pytest.fixture
def open_app(app_server, new_page, settle):
    """Open the product at the given query, and wait until it has settled."""

    def open_at(query="", *, server=app_server, **looks):
        page = new_page(**looks)
        page.goto(f"{server.url}/{query}")
        settle(page)
        return page

    return open_at


@pytest.fixture
def screenshot():
    """Keep a picture of the page in build/screenshots: `screenshot(page, "explore-dark")`."""

    def take(page, name, *, full_page=False):
        path = SCREENSHOTS / f"{name}.png"
        page.screenshot(path=path, full_page=full_page)
        return path

    return take
