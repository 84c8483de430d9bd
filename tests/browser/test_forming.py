"""Watch heads form in a real browser: the slider, the play button, the heads, the address."""

import json
import re

from playwright.sync_api import expect

WORDS = "red seven house under wind paper slow king green water"
TWICE = f"?view=forming&text={WORDS} {WORDS}".replace(" ", "+")
TILES, DETAIL, CURVES = (
    f".st-key-forming_{name} .js-plotly-plot" for name in ("tiles", "detail", "curves")
)
# What the large picture has shown at every frame: whether it was there, and after how many tokens.
WATCH = """
() => {
  window.seen = [];
  const look = () => {
    const chart = document.querySelector('.st-key-forming_detail .js-plotly-plot');
    const there = Boolean(chart && chart.querySelector('.heatmaplayer image'));
    const entry = [there, chart?.layout?.title?.text ?? ''];
    if (JSON.stringify(entry) !== JSON.stringify(window.seen.at(-1))) window.seen.push(entry);
    window.watching = requestAnimationFrame(look);
  };
  look();
}
"""


def slider(page):
    return page.locator(".st-key-forming_link .slider")


def said(page):
    return page.locator(".st-key-forming_link .said")


def play(page):
    return page.locator(".st-key-forming_link .play")


def open_forming(open_app, query=TWICE, **looks):
    """The view, with every chart drawn for its checkpoint."""
    page = open_app(query, **looks)
    for chart in (TILES, DETAIL, CURVES):
        expect(page.locator(chart)).to_be_visible()
    expect(page.locator(DETAIL)).to_contain_text("after")
    return page


def weights(page):
    """The large picture's weights, row by row."""
    found = page.locator(DETAIL).evaluate("chart => JSON.stringify(chart.data.at(-1).z)")
    return json.loads(found)


def stripe(page):
    """How strong the strongest weight far below the diagonal is in the last rows, on average."""
    rows = [[w for w in row if w is not None] for row in weights(page)][-15:]
    return sum(max(row[1:-9]) for row in rows) / len(rows)  # the first token aside


def moved(page, to):
    """Move the slider as a person does with the mouse."""
    slider(page).fill(str(to))
    expect(slider(page)).to_have_value(str(to))


def test_slider_changes_pictures_words_and_address(open_app, settle):
    page = open_forming(open_app)
    assert stripe(page) > 0.5
    expect(said(page).nth(0)).to_contain_text("after the bump")
    tokens = page.locator(CURVES).evaluate("chart => chart.layout.shapes.at(-1).x0")
    moved(page, 2)
    expect(said(page).nth(0)).to_contain_text("before the bump")
    assert stripe(page) < 0.1
    assert page.locator(CURVES).evaluate("chart => chart.layout.shapes.at(-1).x0") < tokens / 10
    page.wait_for_url(re.compile("moment=2"))
    settle(page)
    slider(page).press("ArrowRight")
    page.wait_for_url(re.compile("moment=3"))
    settle(page)
    page.reload()
    settle(page)
    expect(slider(page)).to_have_value("3")
    expect(said(page).nth(0)).to_contain_text("before the bump")
    assert stripe(page) < 0.1


def test_play_runs_to_the_end_without_a_blank(open_app, settle):
    page = open_forming(open_app, TWICE + "&moment=15")
    page.evaluate(WATCH)
    play(page).click()
    expect(play(page)).to_contain_text("Pause")
    expect(slider(page)).to_have_value("24", timeout=60_000)
    expect(play(page)).to_contain_text("Play")
    page.wait_for_url(lambda url: "moment=24" in url)
    settle(page)
    page.evaluate("cancelAnimationFrame(window.watching)")
    seen = page.evaluate("window.seen")
    assert all(there for there, _ in seen)
    assert len({title for _, title in seen}) == 10  # every checkpoint had its turn
    # From the end it begins anew; a click stops it where it is.
    play(page).click()
    expect(said(page).nth(0)).to_contain_text("before the")
    play(page).click()
    at = slider(page).input_value()
    page.wait_for_timeout(1_200)
    assert slider(page).input_value() == at


def test_a_click_on_a_head_chooses_it(open_app, settle):
    page = open_forming(open_app)
    before = weights(page)
    at = page.locator(TILES).evaluate(
        """chart => {
          const [x, y] = [chart._fullLayout.xaxis, chart._fullLayout.yaxis];
          const box = chart.getBoundingClientRect();
          const notes = chart.layout.annotations.find(n => n.text === '<b>0.2</b>');
          return { x: box.x + x._offset + x.d2p(notes.x) - 60,
                   y: box.y + y._offset + y.d2p(notes.y) + 75 };
        }"""
    )
    page.mouse.click(at["x"], at["y"])
    expect(page.locator(DETAIL)).to_contain_text("Layer 0 · head 2")
    expect(said(page).nth(1)).to_contain_text("Head 0.2 looks one token back")
    page.wait_for_url(lambda url: "forming_layer=0" in url and "forming_head=2" in url)
    assert weights(page) != before
    settle(page)
    page.locator(TILES).press("ArrowDown")
    expect(page.locator(DETAIL)).to_contain_text("Layer 1 · head 2")
    settle(page)
    assert "forming_layer" not in page.url  # the default


def test_text_and_theme_are_drawn_at_the_same_moment(open_app, settle, screenshot):
    page = open_forming(open_app, TWICE + "&moment=13", width=480, height=900, dark=True)
    moved(page, 14)
    page.wait_for_url(re.compile("moment=14"))
    page.locator('[class*="st-key-text_widget"] textarea').fill("<b>one</b> & two")
    page.locator('[class*="st-key-text_widget"] textarea').press("Enter")
    expect(page.locator(DETAIL)).to_contain_text("<b>")
    settle(page)
    expect(slider(page)).to_have_value("14")
    labels = page.locator(DETAIL).evaluate("chart => chart.layout.xaxis.ticktext.length")
    assert len(weights(page)) == labels
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0
    screenshot(page, "forming-narrow-dark", full_page=True)
