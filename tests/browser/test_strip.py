"""The text itself, shaded through the tokens' spans, in a real JavaScript engine; long texts."""

import re

import pytest
import torch
from playwright.sync_api import expect

from attention.loading import save_model
from attention.tokens import Tokenizer
from components.mounting import JS
from tests.builders import byte_level_backend, model_config, small_model

CALL = """
([source, text, offsets, shades, query, first, from, to]) => {
    const { pieces } = new Function(source + `; return { pieces };`)();
    const found = pieces({
        text: { offsets }, points: Array.from(text), shaded: { shades, query, first },
        from, to, query,
    });
    return found.map(({ text, shade, chosen, unseen }) => [text, shade, chosen, unseen]);
}
"""


@pytest.fixture
def pieces(new_page):
    page = new_page()
    source = "\n".join((JS / f"{name}.js").read_text() for name in ("shared", "strip"))
    source = source.replace("export default function", "function main")

    def found(text, offsets, shades, query, *, first=0, part=None):
        start, stop = part or (0, len(offsets))
        spans = [list(span) for span in offsets]
        return page.evaluate(CALL, [source, text, spans, list(shades), query, first, start, stop])

    return found


def joined(found):
    return "".join(text for text, *_ in found)


def test_pieces_give_back_the_text_with_its_shades(pieces):
    found = pieces("the cat", ((0, 0), (0, 3), (3, 7)), (0.1, 0.2, 0.7), 2)
    assert found == [["the", 0.2, False, False], [" cat", 0.7, True, False]]
    # The bytes of one character add up, to 1 at most.
    found = pieces("a😀", ((0, 1), (1, 2), (1, 2), (1, 2)), (0.25, 0.25, 0.25, 0.25), 3)
    assert found == [["a", 0.25, False, False], ["😀", 0.75, True, False]]
    assert pieces("é", ((0, 1), (0, 1)), (0.9, 0.9), 1)[0][1] == 1.0
    # What comes after the query, or before its window, is marked.
    found = pieces("abc", ((0, 1), (1, 2), (2, 3)), (1, 0, 0), 0)
    assert [unseen for *_, unseen in found] == [False, True, True]
    found = pieces("abc", ((0, 1), (1, 2), (2, 3)), (0, 1, 0), 1, first=1)
    assert [unseen for *_, unseen in found] == [True, False, True]
    # Text beyond the tokens is left out; text that no token covers has no shade.
    assert joined(pieces("abcdef", ((0, 2), (2, 4)), (0, 0), 1)) == "abcd"
    assert pieces("a b", ((0, 1), (2, 3)), (0.5, 0.5), 1)[1] == [" ", 0, False, True]
    # Right-to-left text keeps the order of the source.
    text = "שלום"
    assert joined(pieces(text, [(n, n + 1) for n in range(4)], (0, 0, 0, 1), 3)) == text
    assert pieces("", ((0, 0),), (1.0,), 0) == []
    # Of a part of the tokens its own text.
    spans = [(n, n + 1) for n in range(6)]
    assert joined(pieces("abcdef", spans, [0] * 6, 3, part=(2, 5))) == "cde"


def test_long_text_shows_the_tokens_around_the_chosen_one(open_app, settle, tmp_path):
    config = model_config(vocab_size=300, context_length=1024)
    tokenizer = Tokenizer(byte_level_backend(vocab_size=300))
    save_model(small_model(config, tokenizer=tokenizer), tmp_path / "long", dtype=torch.float32)
    page = open_app(f"?model={tmp_path / 'long'}&text=the+cat&query=700")
    box = page.locator("textarea").first
    box.fill(" ".join(f"cat {i} sat on the mat" for i in range(130)))
    box.press("Enter")
    settle(page)
    strip = page.locator(".st-key-strip")
    chosen = strip.locator(".chip.chosen")
    expect(chosen).to_have_attribute("title", re.compile(r"^700 · "))
    assert 400 <= strip.locator(".chip").count() <= 401
    expect(strip.locator(".more.before")).to_have_text("500 before …")
    inside = """chip => {
      const [chip_, chips] = [chip, chip.parentElement].map(e => e.getBoundingClientRect());
      return chip_.top >= chips.top - 1 && chip_.bottom <= chips.bottom + 1;
    }"""
    assert chosen.evaluate(inside)  # scrolled to
    strip.locator(".more.before").click()
    expect(strip.locator(".chip").first).to_have_attribute("title", re.compile(r"^100 · "))
    strip.locator(".chip").nth(3).click()
    expect(chosen).to_have_attribute("title", re.compile(r"^103 · "))
    settle(page)
    expect(page.locator(".st-key-one_head")).to_contain_text("(token 103)")
    assert chosen.evaluate(inside)
