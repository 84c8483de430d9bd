"""A choice while the page is busy, or before Python has answered."""

import numpy as np
from playwright.sync_api import expect

from tests.browser.test_explore import DETAIL, heading


def test_click_is_answered_while_the_strip_measures(open_app, settle):
    page = open_app("?text=" + "%20".join(["word"] * 240))
    strip = page.locator(".st-key-timing")
    expect(strip).to_contain_text("With 8 heads a layer")
    strip.get_by_role("button", name="Measure again").click()
    expect(strip).to_contain_text("Measuring …")
    page.locator(".st-key-overview .map").press("ArrowDown")
    expect(heading(page)).to_contain_text("Layer 1 · head 0")
    expect(strip).not_to_contain_text("max |Δ|", timeout=1)
    expect(strip).to_contain_text("max |Δ|")


def test_head_of_the_layer_is_drawn_before_python_answers(open_app, settle):
    """From the grid's weights, which are the pattern's up to 64 tokens."""
    page = open_app("?layer=1&text=" + "+".join(["to", "be", "or", "not"] * 10))
    read = """chart => {
      const { z } = chart._fullData.find(({ type }) => type === 'heatmap');
      return Array.from(z, row => Array.from(row, weight => Number.isNaN(weight) ? -1 : weight));
    }"""
    before = page.locator(DETAIL).evaluate(read)
    at_once = page.evaluate(
        """([map, detail, read]) => {
          const root = [...document.querySelectorAll('.st-key-overview *')]
            .map(element => element.shadowRoot?.querySelector(map)).find(Boolean);
          root.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
          return eval(read)(document.querySelector(detail));
        }""",
        [".map", DETAIL, read],
    )
    settle(page)
    expect(heading(page)).to_contain_text("Layer 1 · head 1")
    answered = page.locator(DETAIL).evaluate(read)
    assert len(at_once) <= 64
    np.testing.assert_allclose(at_once, answered, rtol=0, atol=1e-6)
    assert np.abs(np.subtract(before, answered)).max() > 0.1


def test_choice_that_is_sent_along_with_a_poll_is_shown(new_page, app_server, settle):
    """Streamlit runs one of the fragments that a message is from; a busy browser has such ones."""
    page = new_page()
    page.add_init_script(
        "(wait => { window.setTimeout = (f, ms, ...more) => wait(f, ms || 300, ...more); })"
        "(window.setTimeout.bind(window))"
    )
    page.goto(f"{app_server.url}/?layer=1&text=" + "%20".join(["word"] * 240))
    settle(page)
    strip = page.locator(".st-key-timing")
    for head in range(1, 7):
        strip.get_by_role("button", name="Measure again").click()
        expect(strip).to_contain_text("Measuring …")
        page.wait_for_timeout(60 * head)  # somewhere between two polls
        page.locator(".st-key-overview .map").press("ArrowRight")
        expect(heading(page)).to_contain_text(f"Layer 1 · head {head}", timeout=15_000)
    expect(strip).to_contain_text("max |Δ|")
