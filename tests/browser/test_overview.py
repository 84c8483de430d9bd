"""The map of all heads by itself, on made-up weights: its pixels, its choices, its progress."""

import pytest
from playwright.sync_api import expect

from components.theme import DARK, LIGHT, SCALES
from tests.browser.server import AppServer

MAP = ".map[data-painted]"
# One dot of the canvas, px from its corner: red green blue.
DOT = """(canvas, [x, y]) => {
    const ratio = canvas.width / canvas.clientWidth;
    const at = [x, y].map(n => Math.floor(n * ratio));
    return [...canvas.getContext('2d').getImageData(...at, 1, 1).data].slice(0, 3);
}"""
# How many dots of the canvas have a colour, of those in a rectangle of its own pixels.
COUNT = """(canvas, [x, y, width, height, colour]) => {
    const bytes = canvas.getContext('2d').getImageData(x, y, width, height).data;
    let found = 0;
    for (let i = 0; i < bytes.length; i += 4) {
        if (colour.every((part, k) => bytes[i + k] === part) && bytes[i + 3] === 255) found++;
    }
    return found;
}"""


@pytest.fixture(scope="module")
def map_server(tmp_path_factory):
    log = tmp_path_factory.mktemp("map") / "server.log"
    server = AppServer(log, script="tests/browser/overview_page.py")
    server.start()
    yield server
    server.stop()


@pytest.fixture
def open_map(map_server, open_app):
    def open_at(query="", **looks):
        page = open_app(query, server=map_server, **looks)
        expect(page.locator(MAP)).to_be_visible()
        return page

    return open_at


def rgb(colour):
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def canvas(page):
    return page.locator(f"{MAP} canvas")


def tile(page, layer, head):
    """Where a head is on the canvas: left, top, its side, all px."""
    at = page.locator(MAP)
    left, top, pitch, side = (float(n) for n in at.get_attribute("data-tiles").split())
    turned = at.get_attribute("data-turned") == "true"
    across, down = (layer, head) if turned else (head, layer)
    return left + across * pitch, top + down * pitch, side


def cell(page, layer, head, row, column, *, cells=22):
    """The colour of a cell's middle."""
    left, top, side = tile(page, layer, head)
    at = [left + (column + 0.5) * side / cells, top + (row + 0.5) * side / cells]
    return canvas(page).evaluate(DOT, at)


def middle(page, layer, head):
    left, top, side = tile(page, layer, head)
    return {"x": left + side / 2, "y": top + side / 2}


def expect_head(page, layer, head):
    """Python shows the head, and nothing but its own fragment ran for it."""
    shown = page.get_by_text(f"Layer {layer} · head {head}; ")
    expect(shown).to_be_visible()
    expect(page.locator(f"{MAP} .said")).to_contain_text(f"layer {layer} · head {head}")
    assert shown.inner_text().endswith("; 1 maps drawn")


def framed(page, layer, head, ink=LIGHT):
    left, top, _ = tile(page, layer, head)
    return canvas(page).evaluate(DOT, [left + 5, top - 1]) == rgb(ink.accent)


@pytest.mark.parametrize(("dark", "ink"), [(False, LIGHT), (True, DARK)])
def test_cells_have_their_colours_and_a_choice_runs_only_what_shows_the_head(
    open_map, settle, dark, ink
):
    page = open_map("?large=1", dark=dark)
    assert page.locator(MAP).get_attribute("data-painted") == "4/4"
    assert page.locator(MAP).get_attribute("data-run") == "run 4"
    scale = SCALES["cividis"]
    assert cell(page, 2, 5, 21 - 2, 5) == rgb(scale[-1]), "the full cell of that head"
    assert cell(page, 2, 5, 3, 9) == rgb(ink.masked)
    assert cell(page, 0, 5, 20, 19) not in ([0, 0, 0], rgb(ink.masked), rgb(scale[-1]))
    assert framed(page, 1, 0, ink)

    canvas(page).hover(position=middle(page, 3, 6))
    expect(page.locator(".tip")).to_have_text(
        "layer 3 · head 6: no clear habit; most: first token .31"
    )
    canvas(page).hover(position=middle(page, 3, 7))
    expect(page.locator(".tip")).to_have_text("layer 3 · head 7: induction .94")
    canvas(page).click(position=middle(page, 3, 7))
    expect_head(page, 3, 7)
    assert framed(page, 3, 7, ink)
    assert not framed(page, 1, 0, ink)
    page.get_by_label("head", exact=True).fill("2")
    page.get_by_label("head", exact=True).press("Enter")
    expect_head(page, 3, 2)
    assert framed(page, 3, 2, ink)


def test_keys_move_over_layers_and_heads(open_map, settle):
    page = open_map()
    at = page.locator(MAP)
    at.focus()
    for key, head in (("End", (1, 7)), ("ArrowDown", (2, 7)), ("ArrowLeft", (2, 6)),
                      ("Home", (2, 0)), ("ArrowLeft", (2, 0)), ("ArrowUp", (1, 0))):  # fmt: skip
        at.press(key)
        expect_head(page, *head)
    # Faster than they are sent: the frame follows each, Python gets the last.
    for _ in range(3):
        at.press("ArrowRight")
    at.press("Enter")
    assert framed(page, 1, 3)
    expect_head(page, 1, 3)
    settle(page)
    assert framed(page, 1, 3)
    assert page.evaluate("document.activeElement.shadowRoot.activeElement.matches('.map')")


def test_keys_follow_the_picture_where_layers_go_across(open_map, settle):
    page = open_map("?layers=30&heads=9&side=24")
    at = page.locator(MAP)
    assert at.get_attribute("data-turned") == "true"
    expect(at.locator(".said")).to_contain_text("(layers go across)")
    at.press("ArrowRight")
    expect_head(page, 2, 0)
    at.press("ArrowDown")
    expect_head(page, 2, 1)
    at.press("End")
    expect_head(page, 2, 8)
    canvas(page).click(position=middle(page, 29, 4))
    expect_head(page, 29, 4)


def test_layers_are_filled_in_as_they_come(open_map, settle):
    page = open_map("?large=1&done=1")
    at = page.locator(MAP)
    assert at.get_attribute("data-painted") == "1/4"
    left, top, side = tile(page, 2, 5)
    assert canvas(page).evaluate(DOT, [left + side / 2, top]) == rgb(LIGHT.line), "an outline"
    assert cell(page, 2, 5, 10, 3) == [0, 0, 0], "nothing in it: transparent"
    canvas(page).evaluate("canvas => { canvas.before = true; }")
    at.press("ArrowDown")
    expect_head(page, 2, 0)
    expect(at.locator(".said")).to_have_text("layer 2 · head 0: not looked at yet")
    canvas(page).hover(position=middle(page, 1, 7))
    expect(page.locator(".tip")).to_have_text("layer 1 · head 7: not looked at yet")
    # Without moving the mouse or the focus.
    page.get_by_role("button", name="One more layer").evaluate("button => button.click()")
    expect(at).to_have_attribute("data-painted", "2/4")
    expect(at).to_have_attribute("data-run", "run 2")
    expect(page.locator(".tip")).to_have_text("layer 1 · head 7: previous token .71")
    assert cell(page, 1, 5, 21 - 1, 5) == rgb(SCALES["cividis"][-1])
    assert canvas(page).evaluate("canvas => canvas.before")
    assert page.evaluate("document.activeElement.shadowRoot.activeElement.matches('.map')")
    settle(page)
    assert framed(page, 2, 0)


@pytest.mark.parametrize(("width", "ratio"), [(1280, 1), (1280, 2), (480, 3)])
def test_strong_cell_of_each_of_960_heads_is_there(map_server, new_page, settle, width, ratio):
    # 64 cells on 14 px: none is averaged away.
    page = new_page(width=width)
    screen = {"width": width, "height": 800, "deviceScaleFactor": ratio, "mobile": False}
    page.context.new_cdp_session(page).send("Emulation.setDeviceMetricsOverride", screen)
    page.goto(f"{map_server.url}/?layers=30&heads=32&side=64&large=1&layer=20&head=3")
    expect(page.locator(MAP)).to_be_visible()
    settle(page)
    sharpness = canvas(page).evaluate("canvas => canvas.width / canvas.clientWidth")
    assert sharpness == pytest.approx(ratio, rel=0.01)
    full = rgb(SCALES["cividis"][-1])
    for layer, head in ((0, 0), (7, 31), (29, 0), (29, 31), (13, 17)):
        left, top, side = (round(n * ratio) for n in tile(page, layer, head))
        assert canvas(page).evaluate(COUNT, [left, top, side, side, full]) >= 1
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_choice_made_before_the_link_is_there_is_sent_once_it_is(open_map):
    page = open_map("?late=1")
    canvas(page).click(position=middle(page, 3, 5))
    expect(page.locator(f"{MAP} .said")).to_contain_text("layer 3 · head 5")
    page.get_by_role("button", name="Link").click()
    expect_head(page, 3, 5)


def test_picture_is_told_in_words(open_map):
    page = open_map("?large=1")
    first = (
        "4 layers of 8 heads. Clearest habits: layer 0 · head 0: induction .94; layer 0 · head 4"
    )
    expect(page.get_by_role("img", name=first)).to_be_visible()
    expect(page.get_by_role("application", name="Arrow keys choose one")).to_be_visible()
