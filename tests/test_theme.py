"""The colours of both themes can be read: WCAG contrast, worked out from the settings."""

import tomllib
from itertools import product
from pathlib import Path

import pytest

from attention.implementations import IMPLEMENTATIONS
from components.theme import MARKS, SPARE, mark

ROOT = Path(__file__).parents[1]
SETTINGS = ROOT / ".streamlit" / "config.toml"
THEME = tomllib.loads(SETTINGS.read_text(encoding="utf-8"))["theme"]
READABLE = 4.5
VISIBLE = 3.0  # for icons and lines
DISTINCT = 2.3  # for large marks that have a shape of their own
CAPTION_OPACITY = 0.6  # Streamlit's own, for st.caption


def channels(colour):
    return [int(colour[start : start + 2], 16) for start in (1, 3, 5)]


def luminance(rgb):
    linear = [
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in (channel / 255 for channel in rgb)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first, second):
    darker, lighter = sorted((luminance(first), luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)


def blend(front, back, opacity):
    return [a * opacity + b * (1 - opacity) for a, b in zip(front, back, strict=True)]


def backgrounds(theme):
    parts = (THEME[theme], THEME[theme]["sidebar"])
    return [channels(part[name]) for part in parts for name in part if name.endswith("groundColor")]


def test_contrast_of_black_on_white_is_21():
    assert contrast([0, 0, 0], [255, 255, 255]) == pytest.approx(21.0)


@pytest.mark.parametrize(
    ("theme", "name"),
    list(product(["light", "dark"], ["textColor", "codeTextColor", "linkColor", "primaryColor"])),
)
def test_colour_is_readable_on_every_background(theme, name):
    colour = channels(THEME[theme][name])
    found = backgrounds(theme)
    assert len(found) >= 4
    assert min(contrast(colour, background) for background in found) >= READABLE


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_caption_is_readable_on_every_background(theme):
    text = channels(THEME[theme]["textColor"])
    for background in backgrounds(theme):
        assert contrast(blend(text, background, CAPTION_OPACITY), background) >= READABLE


@pytest.mark.parametrize(("theme", "least"), [("light", READABLE), ("dark", VISIBLE)])
def test_white_shows_on_the_accent(theme, least):
    assert contrast([255, 255, 255], channels(THEME[theme]["primaryColor"])) >= least


@pytest.mark.parametrize("name", MARKS)
def test_each_mark_is_an_implementations_own_and_shows_on_both_pages(name):
    assert name in IMPLEMENTATIONS
    look = mark(name)
    assert look.symbol != SPARE.symbol
    assert [other for other, m in MARKS.items() if m.symbol == look.symbol] == [name]
    for page in ("light", "dark"):
        behind = channels(THEME[page]["backgroundColor"])
        assert contrast(channels(look.colour), behind) >= DISTINCT


def test_no_rule_asks_what_is_anywhere_in_the_page():
    css = (ROOT / "assets" / "css" / "headscope.css").read_text(encoding="utf-8")
    assert ":has(" in css
    assert ".stApp:has(" not in css  # 20 ms of styling at every click
