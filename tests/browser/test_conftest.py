"""The guards around the browser tests are on."""

import pytest

from tests.browser.chromium import playwright_chromium
from tests.browser.watch import is_local


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:8501/x", "ws://localhost:8501/_stcore/stream", "data:image/png;base64,"],
)
def test_address_of_this_machine_is_local(url):
    assert is_local(url)


@pytest.mark.parametrize(
    "url", ["https://cdn.example/plotly.js", "ws://192.0.2.1/", "http://127.0.0.1.example/"]
)
def test_address_elsewhere_is_not_local(url):
    assert not is_local(url)


def test_the_browser_is_found_while_playwright_already_runs(new_page):
    assert new_page().evaluate("1") == 1
    assert playwright_chromium().name


def test_request_to_another_machine_is_noticed(new_page, page_watch):
    page = new_page()
    with page.expect_event("requestfailed"):
        page.set_content('<img src="http://elsewhere.example/pixel.png">')
    assert page_watch.outside_requests == ["http://elsewhere.example/pixel.png"]
    page_watch.outside_requests.clear()
    page_watch.console_errors.clear()


def test_console_error_is_noticed(new_page, page_watch):
    page = new_page()
    with page.expect_console_message():
        page.evaluate("console.error('a fault')")
    assert page_watch.complaints() == ["the console says: a fault ()"]
    page_watch.console_errors.clear()


def test_uncaught_exception_is_noticed(new_page, page_watch):
    page = new_page()
    with page.expect_event("pageerror"):
        page.evaluate("setTimeout(() => { throw new Error('a slip') })")
    assert any("a slip" in text for text in page_watch.console_errors)
    page_watch.console_errors.clear()
