"""A chapter: zoom from the whole head to one weight, and read it exactly."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
import torch
from playwright.sync_api import expect

from attention.loading import save_model
from attention.tokens import Tokenizer
from tests.browser.server import NO_NETWORK, ROOT
from tests.builders import byte_level_backend, model_config, small_model

VIEWER = ".st-key-one_head .viewer"
EXACT = re.compile(r"query (\d+) · .*\s+key (\d+) · .*\s+weight ([\d.e-]+)$", re.DOTALL)


@pytest.fixture
def long_model(tmp_path):
    """A Llama of random weights that reads 5,003 tokens."""
    tokenizer = Tokenizer(byte_level_backend(vocab_size=300))
    config = model_config(vocab_size=300, context_length=5003)
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


@pytest.fixture
def written(long_model, tmp_path):
    """What the command line writes of one head of a text: `written(text, layer, head)`."""

    def write(text, layer, head):
        (tmp_path / "chapter.txt").write_text(text, encoding="utf-8")
        parts = ("--text-file", tmp_path / "chapter.txt", "--layer", layer, "--head", head)
        command = (sys.executable, "-m", "attention", "run", "--model", long_model, *parts)
        done = subprocess.run(
            [str(part) for part in (*command, "--out", tmp_path / "run.npz")],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
            env={**os.environ, **NO_NETWORK},
        )
        assert done.returncode == 0, done.stderr
        with np.load(tmp_path / "run.npz", allow_pickle=False) as archive:
            return archive["pattern"][0, 0]

    return write


def pinch(page, x, y):
    """Two fingers come down beside a place and move apart."""
    devtools = page.context.new_cdp_session(page)

    def touch(kind, *fingers):
        points = [{"x": at, "y": y, "id": number} for number, at in enumerate(fingers)]
        devtools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", x - 20)
    touch("touchStart", x - 20, x + 20)
    for apart in (30, 40, 60):
        touch("touchMove", x - apart, x + apart)
    touch("touchEnd")


def test_weight_under_the_pointer_is_the_one_that_the_command_line_writes(
    open_app, settle, screenshot, long_model, written
):
    page = open_app(f"?model={long_model}&layer=1&head=2&text=the+cat")
    text = " ".join(f"cat {i} sat on the mat" for i in range(500))
    box = page.locator("textarea").first
    box.fill(text)
    box.press("Enter")
    viewer, state = page.locator(VIEWER), page.locator(f"{VIEWER} .state")
    expect(state).to_have_text(re.compile(r"all [\d,]+ tokens"))
    settle(page)
    count = int(re.search(r"[\d,]+", state.inner_text())[0].replace(",", ""))
    assert 4096 < count <= 5003
    assert shades(page) > 20
    screenshot(page, "tiles-whole")

    canvas = page.locator(f"{VIEWER} .plot")
    place = canvas.bounding_box()
    x, y = place["x"] + 0.35 * place["width"], place["y"] + 0.45 * place["height"]
    page.mouse.move(x, y)
    for _ in range(5):
        page.mouse.wheel(0, -600)
    expect(state).to_have_text(re.compile("queries"))
    tip = page.locator(".st-key-one_head .tip")
    expect(tip).to_have_text(EXACT)
    query, key, weight = EXACT.search(tip.inner_text()).groups()
    pattern = written(text, 1, 2)
    assert pattern.shape == (count, count)
    assert float(weight) == pytest.approx(float(pattern[int(query), int(key)]), rel=1e-4)

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
    strongest = pattern[701].argmax()
    expect(page.locator(f"{VIEWER} .keys button").first).to_have_text(re.compile(f"^{strongest} "))

    viewer.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("+")
    expect(state).to_have_text(re.compile(r"query 701 · .* · key \d+ · "))
    screenshot(page, "tiles-followed")
    page.keyboard.press("0")
    page.keyboard.press("Escape")
    expect(state).to_have_text(f"all {count:,} tokens")
    find.fill("on the mat")  # four tokens and more
    find.press("Enter")
    expect(state).to_have_text(re.compile("queries"))
    settle(page)
    said = page.locator(f"{VIEWER} .keys span").inner_text()
    assert re.match(r"70\d “.*on” looks at", said)
    page.keyboard.press("Escape")
    page.keyboard.press("0")
    expect(state).to_have_text(f"all {count:,} tokens")
    pinch(page, x, y)
    expect(state).to_have_text(re.compile("queries"))
