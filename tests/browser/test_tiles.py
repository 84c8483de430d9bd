"""A long text: zoom from the whole head to one weight, and read it exactly."""

import re

import pytest
import torch
from playwright.sync_api import expect

from attention.loading import load_model, save_model
from attention.tokens import Tokenizer
from tests.builders import byte_level_backend, model_config, small_model

VIEWER = ".st-key-one_head .viewer"
EXACT = re.compile(r"query (\d+) · .*\s+key (\d+) · .*\s+weight ([\d.e-]+)$", re.DOTALL)


@pytest.fixture
def long_model(tmp_path):
    """A Llama of random weights that reads 4,096 tokens."""
    tokenizer = Tokenizer(byte_level_backend(vocab_size=300))
    config = model_config(vocab_size=300, context_length=4096)
    save_model(small_model(config, tokenizer=tokenizer), tmp_path / "long", dtype=torch.float32)
    return str(tmp_path / "long")


def shades(page):
    """How many colours the canvas has."""
    return page.locator(f"{VIEWER} .plot").evaluate(
        """canvas => {
            const { width, height } = canvas;
            const bytes = canvas.getContext('2d').getImageData(0, 0, width, height).data;
            return new Set(new Uint32Array(bytes.buffer)).size;
        }"""
    )


def test_weight_under_the_pointer_is_exact_after_zooming(open_app, settle, screenshot, long_model):
    page = open_app(f"?model={long_model}&layer=1&head=2&text=the+cat", height=900)
    text = " ".join(f"cat {i} sat on the mat" for i in range(150))
    box = page.locator("textarea").first
    box.fill(text)
    box.press("Enter")
    viewer, state = page.locator(VIEWER), page.locator(f"{VIEWER} .state")
    expect(state).to_have_text(re.compile(r"all [\d,]+ tokens"))
    settle(page)
    count = int(re.search(r"[\d,]+", state.inner_text())[0].replace(",", ""))
    assert count > 1000
    assert shades(page) > 20
    screenshot(page, "tiles-whole")

    canvas = page.locator(f"{VIEWER} .plot")
    place = canvas.bounding_box()
    x, y = place["x"] + 0.35 * place["width"], place["y"] + 0.45 * place["height"]
    page.mouse.move(x, y)
    for _ in range(3):
        page.mouse.wheel(0, -600)
    expect(state).to_have_text(re.compile("queries"))
    tip = page.locator(".st-key-one_head .tip")
    expect(tip).to_have_text(EXACT)
    query, key, weight = EXACT.search(tip.inner_text()).groups()
    record = load_model(long_model).run(text)
    assert record.seq_len == count
    rows = slice(int(query), int(query) + 1)
    exact = record.pattern(1, 2, rows=rows)[0, int(key)]
    assert float(weight) == pytest.approx(float(exact), rel=2e-4)

    before = state.inner_text()
    page.mouse.down()
    page.mouse.move(x + 40, y + 40, steps=3)
    page.mouse.up()
    expect(state).not_to_have_text(before)
    canvas.dblclick(position={"x": 0.35 * place["width"], "y": 0.45 * place["height"]})
    expect(state).to_have_text(f"all {count:,} tokens")
    settle(page)

    find = viewer.get_by_label("Go to token")
    find.fill("701")
    find.press("Enter")
    settle(page)
    assert "query=701" in page.url
    expect(state).to_have_text(re.compile(r"queries \d+–\d+, keys \d+–\d+"))
    viewer.get_by_role("button", name="Keep the chosen token").click()
    strongest = record.pattern(1, 2, rows=slice(701, 702))[0].argsort()[::-1][0]
    expect(page.locator(f"{VIEWER} .keys button").first).to_have_text(re.compile(f"^{strongest} "))

    viewer.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("+")
    expect(state).to_have_text(re.compile(r"query 701 · .* · key \d+ · "))
    screenshot(page, "tiles-followed")
    page.keyboard.press("0")
    page.keyboard.press("Escape")
    expect(state).to_have_text(f"all {count:,} tokens")
