"""Watch heads form under AppTest, in each of its states."""

import json
from functools import partial

import numpy as np
import pytest

from attention import formation
from attention.formation import load_formation
from components import resources
from components.film import MOST_TOKENS, STEPS
from components.samples import SAMPLES
from tests.components import explore_page

open_page = partial(explore_page.open_page, view="forming")


def sent(page):
    """What the browser got: header, and the weights' steps by checkpoint, layer, head."""
    found = [e.proto for e in page.get("bidi_component")]
    packed = next(p.bytes for p in found if p.component_name == "headscope_forming")
    length = int.from_bytes(packed[:4], "little")
    header = json.loads(packed[4 : 4 + length])
    steps = np.frombuffer(packed[4 + length :], dtype="<u2")
    return header, steps.reshape(25, header["layers"], header["heads"], -1)


def figures(page):
    return {
        e.proto.id.rsplit("-", 1)[-1]: json.loads(e.proto.spec) for e in page.get("plotly_chart")
    }


def said(page):
    return [alert.value.replace("\\", "") for alert in (*page.info, *page.warning, *page.error)]


def test_opens_with_the_sample_at_the_last_checkpoint():
    page = open_page()
    assert said(page) == []
    assert set(figures(page)) == {"forming_tiles", "forming_detail", "forming_curves"}
    header, steps = sent(page)
    assert header["start"] == [24, 1, 3]
    assert header["labels"][:3] == ["<bos>", "T", "he"]
    assert steps.shape[-1] == len(header["labels"]) * (len(header["labels"]) + 1) // 2
    assert page.text_area[0].value == SAMPLES[0].text


def test_address_chooses_checkpoint_layer_and_head():
    page = open_page(moment=7, forming_layer=0, forming_head=2, text="a b a b")
    header, _ = sent(page)
    assert header["start"] == [7, 0, 2]
    title = figures(page)["forming_detail"]["layout"]["title"]["text"]
    assert title == "<b>Layer 0 · head 2</b> after 1.29M tokens"
    assert page.text_area[0].value == "a b a b"


def test_every_checkpoint_has_its_words_for_every_head():
    header, _ = sent(open_page())
    tokens = load_formation().tokens
    assert [len(part) for part in (header["moments"], header["said"], header["tags"])] == [25] * 3
    assert {len(heads) for part in ("said", "tags", "titles") for heads in header[part]} == {8}
    assert header["tokens"] == list(tokens)
    assert len(set(header["moments"])) == 25
    assert header["tags"][24][7].startswith("induction .9")
    assert "before the first step" in header["moments"][0]
    first, last = header["bump"]
    assert all("in the bump" in words for words in header["moments"][first : last + 1])
    assert "after the bump" in header["moments"][last + 1]


def test_weights_in_the_browser_are_those_of_the_checkpoint():
    header, steps = sent(open_page(text="one two one two"))
    expected = load_formation().model(20).run("one two one two").pattern(1, 2)
    last = steps[20, 1, 2, -len(header["labels"]) :] / STEPS
    np.testing.assert_allclose(last, expected[-1], atol=1 / STEPS)


def test_long_text_is_cut_with_a_note():
    page = open_page(text="one two three " * 40)
    assert len(sent(page)[0]["labels"]) == MOST_TOKENS
    assert [f"show the first {MOST_TOKENS}" in note for note in said(page)] == [True]


@pytest.mark.parametrize("text", ["a", "\n", "🙂"])
def test_shortest_texts_are_shown(text):
    header, _ = sent(open_page(text=text))
    assert header["seqLen"] == len(header["labels"]) >= 2


def test_empty_text_is_one_sentence():
    page = open_page()
    page.text_area[0].set_value("").run()
    assert not page.exception
    assert said(page) == ["There is no text yet: type one, or pick a sample."]


def test_what_does_not_exist_is_put_right_with_a_sentence():
    page = open_page(moment=99, forming_head=4)
    assert sent(page)[0]["start"] == [24, 1, 3]
    assert said(page) == [
        "moment must be 0 to 24 for this model; got 99. 24 is shown.",
        "forming_head must be 0 to 3 for this model; got 4. 3 is shown.",
    ]


def test_another_text_begins_nothing_anew():
    """Regression guard: a chart whose figure changes is mounted anew, which shows as a blank."""
    page = open_page(moment=7)
    before = figures(page)
    page.text_area[0].set_value("quite another text").run()
    assert figures(page) == before
    header, _ = sent(page)
    assert (header["turn"], header["start"]) == (0, [7, 1, 3])
    ticks = json.loads(header["figures"]["detail"])["layout"]["xaxis"]["ticktext"]
    assert len(ticks) == len(header["labels"])


def test_hidden_first_token_and_colours_reach_the_pictures():
    page = open_page(hide_first=1, colour="viridis")
    header, _ = sent(page)
    assert header["hideFirst"] is True
    heatmap = json.loads(header["figures"]["detail"])["data"][-1]
    assert heatmap["colorscale"][0][1] == "#440154"
    assert any("renormalised" in caption.value for caption in page.caption)


def test_missing_checkpoints_are_one_sentence_with_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setattr(formation, "SHIPPED", tmp_path)
    resources.formation.clear()
    try:
        page = open_page()
    finally:
        resources.formation.clear()  # the other tests need the real ones
    assert ["attention forming" in sentence for sentence in said(page)] == [True]
    assert figures(page) == {}
