"""The main journey in a real browser: type a text, pick heads, toggle, reload."""

import re

import pytest
from playwright.sync_api import expect

TEXT = "the cat sat on the mat and the cat sat on the rug"
GRID = ".st-key-grid .js-plotly-plot"
DETAIL = ".st-key-detail .js-plotly-plot"
# The words of the hover's box that is shown; components live in shadow roots.
TIP = """
() => {
  const found = [];
  const walk = root => root.querySelectorAll('*').forEach(element => {
    if (element.classList.contains('tip') && element.style.display === 'block') {
      found.push(element.textContent);
    }
    if (element.shadowRoot) walk(element.shadowRoot);
  });
  walk(document);
  return found.join('|');
}
"""
HOSTILE = [
    "</script><img src=x onerror=alert(1)>",
    "<style>*{display:none}</style>",
    "![x](http://elsewhere.example/a.png) :red[x] $x$ `a`",
]


def text_box(page):
    """The one before may be there still, hidden: Streamlit takes it away at the end of a run."""
    return page.locator('[class*="st-key-text_widget"] textarea').first


def chips(page):
    return page.locator(".st-key-strip .chip")


def type_text(page, text):
    """Type as a person does, and press Enter."""
    text_box(page).fill(text)
    text_box(page).press("Enter")
    expect(page.locator(".st-key-samples")).to_contain_text("token", timeout=60_000)


def tile(page, head):
    """The middle of a head's lower left half in the grid, in the page's px."""
    return page.evaluate(
        """([selector, head]) => {
          const chart = document.querySelector(selector);
          const [x, y] = [chart._fullLayout.xaxis, chart._fullLayout.yaxis];
          const frame = chart.getBoundingClientRect();
          const notes = chart.layout.annotations.find(n => n.text === `<b>${head}</b>`);
          const width = chart._fullLayout.xaxis.range[1];
          return { x: frame.x + x._offset + x.d2p(notes.x) - 60,
                   y: frame.y + y._offset + y.d2p(notes.y) + 75 };
        }""",
        [GRID, head],
    )


def hovered(page, x, y, word):
    """The hover's words at a place, once they hold `word`; the mouse trembles meanwhile."""
    for turn in range(100):
        page.mouse.move(x + turn % 2, y)
        if word in (words := page.evaluate(TIP)):
            return words
        page.wait_for_timeout(100)
    raise AssertionError(f"the hover must show {word!r}; it shows {page.evaluate(TIP)!r}")


def heading(page):
    return page.locator(".st-key-one_head").get_by_text(re.compile(r"^Layer \d+ · head \d+"))


def test_text_to_heads_and_back(open_app, settle, screenshot):
    page = open_app("?layer=1")
    expect(page.locator(GRID)).to_be_visible()
    screenshot(page, "explore")

    type_text(page, TEXT)
    expect(chips(page).nth(2)).to_have_text("␣cat")
    settle(page)
    labels = page.locator(DETAIL).evaluate("chart => chart.layout.xaxis.ticktext")
    assert len(labels) == chips(page).count() > len(set(labels))
    z = page.locator(DETAIL).evaluate(
        "chart => { const z = chart._fullData.find(t => t.type === 'heatmap').z;"
        " return [z.length, z[0].length]; }"
    )
    assert z == [len(labels)] * 2

    at = tile(page, 6)
    assert hovered(page, at["x"], at["y"], "weight").startswith("head 1.6\n")
    page.mouse.click(at["x"], at["y"])
    expect(heading(page)).to_contain_text("Layer 1 · head 6")
    settle(page)

    overview = page.locator(".st-key-overview .map")
    overview.press("ArrowDown")
    overview.press("ArrowRight")
    expect(heading(page)).to_contain_text("Layer 2 · head 7")
    expect(page.locator('[class*="st-key-layer_widget"] input').first).to_have_value("2")
    settle(page)

    chips(page).nth(4).click()
    expect(chips(page).nth(4)).to_have_attribute("aria-selected", "true")
    settle(page)
    chips(page).nth(4).press("ArrowRight")
    expect(chips(page).nth(5)).to_have_attribute("aria-selected", "true")
    settle(page)

    page.locator('[class*="st-key-implementation_widget"] button', has_text="Loop").click()
    expect(page.locator(".st-key-timing")).to_contain_text("Loop vs Batch")
    settle(page)
    expect(page.locator(".st-key-timing")).to_contain_text("max |Δ|")

    address = page.url
    assert "text=" in address
    page.reload()
    settle(page)
    assert page.url == address
    expect(text_box(page)).to_have_value(TEXT)
    expect(heading(page)).to_contain_text("Layer 2 · head 7")
    expect(chips(page).nth(5)).to_have_attribute("aria-selected", "true")
    expect(page.locator(".st-key-timing")).to_contain_text("Loop vs Batch")


def test_sample_leads_to_a_head_and_its_explanation(open_app, settle, screenshot):
    page = open_app("?text=one")
    page.locator(".st-key-samples button", has_text="random twice").click()
    settle(page)
    guide = page.locator(".st-key-guide")
    expect(guide).to_contain_text("The second half repeats the first")
    offer = guide.get_by_role("button")
    name = re.search(r"head (\d+)\.(\d+): induction", offer.inner_text())
    offer.click()
    expect(heading(page)).to_contain_text(f"Layer {name[1]} · head {name[2]}")
    settle(page)
    page.get_by_role("button", name="What am I looking at?").click()
    words = page.get_by_test_id("stPopoverBody")
    expect(words).to_contain_text("Induction head")
    expect(words).to_contain_text("one step right of where the text repeats")
    page.wait_for_timeout(500)  # it slides in
    screenshot(page, "explained")
    said, picture = words.bounding_box(), page.locator(DETAIL).bounding_box()
    assert said["x"] >= 0
    assert said["x"] + said["width"] <= picture["x"] + 1  # beside the head, not over it


def test_typing_runs_after_a_pause_and_back_undoes(open_app, settle):
    page = open_app("?text=one")
    text_box(page).press("End")
    text_box(page).press_sequentially(" two three", delay=20)
    expect(page.locator(".st-key-strip")).to_contain_text("␣three")
    settle(page)
    expect(text_box(page)).to_have_value("one two three")
    page.go_back()
    expect(text_box(page)).to_have_value("one")


def test_shift_enter_is_a_new_line(open_app, settle):
    page = open_app("?text=one")
    text_box(page).press("End")
    text_box(page).press("Shift+Enter")
    text_box(page).press_sequentially("two")
    text_box(page).press("Enter")
    settle(page)
    expect(text_box(page)).to_have_value("one\ntwo")
    expect(page.locator(".st-key-strip")).to_contain_text("\\n")


def test_click_on_a_row_of_the_head_makes_it_the_query(open_app, settle):
    page = open_app("?text=a+b+c+d+e")
    plot = page.locator(f"{DETAIL} .nsewdrag").first
    box = plot.bounding_box()
    left, right = (box["x"] + box["width"] * share for share in (0.1, 0.9))
    height = box["y"] + box["height"] * 0.4
    assert hovered(page, right, height, "later token").endswith("cannot attend: later token")
    assert hovered(page, left, height, "weight").startswith("query 2 · ␣b\nkey 0 · <bos>\n")
    page.mouse.click(left, height)
    expect(chips(page).nth(2)).to_have_attribute("aria-selected", "true")
    settle(page)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_as_text(open_app, settle, text):
    page = open_app("?text=a")
    page.on("dialog", lambda dialog: pytest.fail("the text ran as a script"))
    type_text(page, text)
    settle(page)
    expect(text_box(page)).to_have_value(text)
    expect(page.locator(GRID)).to_be_visible()
    assert page.locator(".st-key-strip .source").inner_text() == text


def test_long_paste_is_kept_and_cut_for_the_model(open_app, settle):
    page = open_app("?text=a")
    text = "x" * 100_000
    type_text(page, text)
    settle(page)
    expect(page.get_by_test_id("stAlert")).to_contain_text("the first 256")
    assert text_box(page).input_value() == text
    assert chips(page).count() == 256


def test_address_with_a_device_that_is_not_here_says_so(open_app):
    page = open_app("?device=cuda:7&text=kept")
    expect(page.get_by_test_id("stAlert")).to_contain_text("cuda:7")
    expect(text_box(page)).to_have_value("kept")
    expect(page.locator(GRID)).to_be_visible()


def test_old_picture_stays_until_the_new_one_is_drawn(open_app, settle):
    # Streamlit mounts a chart anew whenever its data change: it was blank meanwhile.
    page = open_app("?layer=0&head=0")
    for chart in (GRID, DETAIL):
        expect(page.locator(f"{chart} .heatmaplayer image")).to_be_attached()
    page.evaluate("""() => {
      window.blank = 0;
      const look = () => {
        const drawn = name => document.querySelector(`.st-key-${name}_place .heatmaplayer image`);
        if (!drawn('grid') || !drawn('detail')) window.blank += 1;
        requestAnimationFrame(look);
      };
      look();
    }""")
    for layer in (1, 2):
        page.locator(".st-key-overview .map").press("ArrowDown")
        expect(heading(page)).to_contain_text(f"Layer {layer} · head 0")
        settle(page)
    assert page.evaluate("window.blank") == 0


def test_chart_is_linked_once_and_fills_its_place(open_app, settle):
    # Each new choice left its listeners behind; a chart that was drawn before its place had its
    # height stayed small.
    page = open_app("?layer=0&head=0")
    for layer in (1, 2, 3):
        page.locator(".st-key-overview .map").press("ArrowDown")
        expect(heading(page)).to_contain_text(f"Layer {layer} · head 0")
        settle(page)
    linked = """selector => {
      const chart = document.querySelector(selector);
      const whole = ['xaxis', 'yaxis'].every(
        name => chart._fullLayout[name]._inputDomain.join() === '0,1');
      return whole && typeof chart._ev._events.plotly_click === 'function';  // several: an array
    }"""
    for chart in (GRID, DETAIL):
        page.wait_for_function(linked, arg=chart)


def test_frame_of_the_chosen_head_survives_a_new_window_size(open_app, settle):
    page = open_app("?layer=1&head=2")
    for width in (1600, 1000, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_timeout(600)
        for chart in (GRID, DETAIL):
            framed = f"document.querySelector('{chart}').layout.shapes?.length === 1"
            page.wait_for_function(framed)
    settle(page)
