"""The Explore page in windows of every size: the picture, and the sentence to read off it."""

import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from components.samples import SAMPLES
from tests.browser.test_explore import DETAIL, GRID


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [480, 880, 1280, 1920])
def test_every_width_shows_the_heads_without_sideways_scroll(open_app, screenshot, width, dark):
    page = open_app("?layer=1&head=3", width=width, dark=dark)
    expect(page.locator(DETAIL)).to_be_visible()
    name = f"explore-{width}-{'dark' if dark else 'light'}"
    screenshot(page, name)
    main = page.get_by_test_id("stMain")
    assert main.evaluate("e => e.scrollWidth <= e.clientWidth + 1")
    grid, detail = (page.locator(chart).bounding_box() for chart in (GRID, DETAIL))
    side_by_side = abs(grid["y"] - detail["y"]) < grid["height"]
    assert side_by_side == (width >= 900)
    if width == 1280:
        assert grid["y"] + grid["height"] <= 800  # the heads are above the fold


def test_views_stand_beside_the_button_of_a_closed_sidebar(open_app):
    page = open_app("?layer=1", width=1280)
    views = page.locator(".st-key-navigation button").first
    before = views.bounding_box()["x"]
    page.get_by_test_id("stSidebar").hover()
    page.get_by_test_id("stSidebarCollapseButton").locator("button").click()
    opener = page.get_by_test_id("stExpandSidebarButton")
    expect(opener).to_be_visible()
    page.wait_for_timeout(500)  # it slides out
    assert views.bounding_box()["x"] < before
    beside = opener.bounding_box()
    assert views.bounding_box()["x"] >= beside["x"] + beside["width"]


def test_explanation_leaves_the_head_in_sight_on_a_narrow_window(open_app, settle):
    page = open_app("?layer=1&head=0", width=480)
    asked = page.get_by_role("button", name="What am I looking at?")
    asked.evaluate("button => button.scrollIntoView({ block: 'start' })")
    asked.click()
    words = page.get_by_test_id("stPopoverBody")
    expect(words).to_contain_text("In the picture:")
    page.wait_for_timeout(500)  # it slides in
    said, picture = words.bounding_box(), page.locator(DETAIL).bounding_box()
    assert said["y"] >= picture["y"] + picture["height"] - 1  # below the head, not over it
    assert said["y"] + said["height"] <= 800
    assert said["width"] <= 480


@pytest.mark.parametrize("sample", ["agreement", "rhyme"])  # one line, and two
def test_sentences_stand_above_the_timing_on_a_laptop(open_app, sample):
    text = next(each.text for each in SAMPLES if each.name == sample)
    page = open_app(f"?{urlencode({'text': text})}")
    timing = page.locator(".st-key-timing").bounding_box()
    for said in ("Layer 1: ", "Head 1.0 "):
        box = page.get_by_text(re.compile(f"^{said}")).bounding_box()
        assert box["y"] + box["height"] <= timing["y"]
