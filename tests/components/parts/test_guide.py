"""The line above the pictures: what to look at, and the heads that show it best."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from components.explanations import EXPLANATIONS
from components.first_map import StoredHabit
from components.parts.guide import clearest
from components.samples import SAMPLES

APP = Path(__file__).parents[3] / "app.py"


def induction(score):
    return StoredHabit("induction", "induction", score)


def previous(score):
    return StoredHabit("previous_token", "previous token", score)


def open_page(text):
    page = AppTest.from_file(str(APP), default_timeout=60)
    page.query_params["text"] = text
    page.run()
    assert not page.exception
    return page


def offers(page):
    return [button for button in page.button if str(button.key).startswith("guide_")]


def lines(page):
    return [note.value.replace("\\", "") for note in page.markdown]


# ------------------------------------------------------------------ the choice


def test_head_with_the_highest_score_of_its_kind_is_the_clearest():
    habits = [[None, induction(0.5), previous(0.9)], [induction(0.7), None, induction(0.6)]]
    assert clearest(habits) == {
        "previous_token": ((0, 2), previous(0.9)),
        "induction": ((1, 0), induction(0.7)),
    }


def test_first_of_equal_heads_is_taken():
    assert clearest([[induction(0.5), induction(0.5)]])["induction"][0] == (0, 0)


def test_kinds_come_in_the_order_of_the_table_and_others_last():
    new = StoredHabit("new", "a new thing", 0.9)
    habits = [[new, induction(0.5), previous(0.5)]]
    assert list(clearest(habits)) == ["previous_token", "induction", "new"]


def test_nothing_clear_is_no_offer():
    assert clearest([[None], [None]]) == {}


# ------------------------------------------------------------------ the page


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_sample_has_its_sentence_and_offers_one_head(sample):
    page = open_page(sample.text)
    assert sample.look_for in lines(page)
    [button] = offers(page)
    assert button.key == f"guide_{sample.shows}"
    assert button.label.startswith("Look at head ")


def test_offer_opens_the_head_that_it_names():
    page = open_page(SAMPLES[-1].text)
    [button] = offers(page)
    layer, head = (int(n) for n in button.label.split(":")[0].split()[-1].split("."))
    button.click().run()
    assert (page.session_state["layer"], page.session_state["head"]) == (layer, head)
    assert f"**Layer {layer} · head {head}**" in "".join(lines(page))
    assert f"Head {layer}.{head} " in "".join(lines(page))


def test_own_text_offers_a_head_for_each_kind_that_is_clear():
    page = open_page("my own text and my own text and then some words of mine")
    assert "Clear on this text:" in lines(page)
    keys = [str(button.key).removeprefix("guide_") for button in offers(page)]
    assert keys == [metric for metric in EXPLANATIONS if metric in keys]
    assert len(keys) >= 2


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("my own", "No head has a clear habit on this text."),
        (SAMPLES[0].text, "No head of this model does it clearly."),
    ],
)
def test_text_on_which_no_head_is_clear_says_so(text, sentence):
    def script(text):
        from components.parts import guide

        guide.draw(text, [[None, None]])

    page = AppTest.from_function(script, kwargs={"text": text}).run()
    assert not page.exception
    assert sentence in [note.value for note in (*page.markdown, *page.caption)]
    assert offers(page) == []


def test_sentences_are_there_where_samples_are_chosen():
    page = open_page("a text of my own")
    [title] = [note for note in page.markdown if note.value == "Samples"]
    for sample in SAMPLES:
        assert sample.look_for in title.help.replace("\\", "")
