"""A model of one's own in a real browser: opened by its path, refused by its path, kept."""

import re

from playwright.sync_api import expect

from tests.components.model_page import saved

GRID = ".st-key-grid .js-plotly-plot"
BUTTON = ".st-key-model_popover button"


def open_path(page, path):
    page.locator(BUTTON).first.click()
    field = page.locator(".st-key-model_typed input")
    field.fill(str(path))
    field.press("Enter")
    expect(field).not_to_be_visible()  # the list closes: the picture is behind it


def heads_drawn(page):
    chart = page.locator(GRID)
    return chart.evaluate(
        "chart => chart.layout.annotations.filter(n => /<b>/.test(n.text)).length"
    )


def test_model_is_opened_by_its_path_and_stays_when_another_is_refused(
    open_app, settle, screenshot, tmp_path
):
    wide = saved(tmp_path / "wide", num_layers=24, num_heads=16, vocab_size=101)
    (tmp_path / "torn.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0{}")
    page = open_app("?text=1+2+3+4+1+2+3+4&layer=3&head=7")
    open_path(page, wide)
    expect(page.locator(BUTTON).first).to_have_text(re.compile("wide"))
    settle(page)
    expect(page.locator('[class*="st-key-layer_widget"] input').first).to_have_value("3")
    assert heads_drawn(page) == 16
    assert "model=" in page.url
    grid, overview = (page.locator(at).bounding_box() for at in (GRID, ".st-key-overview canvas"))
    assert grid["y"] + grid["height"] <= 800, "the heads are above the fold"
    assert overview["height"] < 200
    screenshot(page, "model-wide")

    page.locator(".st-key-overview .map").press("ArrowRight")  # layers go across
    expect(page.locator(".st-key-one_head")).to_contain_text("Layer 4 · head 7")
    settle(page)

    address = page.url
    open_path(page, tmp_path / "torn.safetensors")
    expect(page.get_by_test_id("stAlert")).to_contain_text("wide stays open")
    settle(page)
    assert page.url == address
    assert heads_drawn(page) == 16

    page.reload()
    settle(page)
    expect(page.locator(BUTTON).first).to_have_text(re.compile("wide"))

    page.locator(BUTTON).first.press("Enter")
    embedded = page.locator(".st-key-model_list button").first
    expect(embedded).to_be_focused()  # the list is elsewhere in the page's order
    embedded.press("Enter")
    expect(page.locator(BUTTON).first).to_have_text(re.compile("embedded"))
    settle(page)
    expect(page.locator('[class*="st-key-layer_widget"] input').first).to_have_value("3")
    assert heads_drawn(page) == 8
    assert "model=" not in page.url
