"""Explore under AppTest, in each of its states."""

import shutil
import threading

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from attention import devices
from attention.loading import EMBEDDED
from components import resources
from components.samples import SAMPLES
from components.state import LONGEST_ADDRESS_TEXT
from tests.components.explore_page import charts, component, measured, open_page, said, typed

HOSTILE = "</script><img src=x onerror=alert(1)><style>*{display:none}</style>"


def test_opens_with_a_sample_and_its_pictures():
    page = open_page()
    assert said(page) == []
    assert set(charts(page)) == {"grid", "detail"}
    assert component(page, "overview")["heads"] == 8
    assert component(page, "strip")["labels"][:2] == ["<bos>", "The"]
    assert len(measured(page)["rows"]) == 3


def test_all_heads_are_one_trace_of_one_figure():
    grid = charts(open_page(layer=1))["grid"]
    assert len(grid["data"]) == 1
    assert grid["data"][0]["z"]["dtype"] == "u1"


def test_repeated_words_keep_a_row_for_each():
    page = typed(open_page(), "the cat the cat")
    detail = charts(page)["detail"]["layout"]
    assert len(detail["xaxis"]["ticktext"]) == 5
    assert len(detail["yaxis"]["tickvals"]) == 5


def test_address_restores_the_view():
    page = open_page(
        text="a b a b", layer=2, head=5, query=3, colour="viridis", log=1, hide_first=1,
        implementation="sdpa",
    )  # fmt: skip
    assert page.text_area[0].value == "a b a b"
    assert [
        box.value for box in page.number_input if box.label.startswith(("Layer,", "Head,"))
    ] == [2, 5]
    assert component(page, "link")["value"] == [2, 5]
    assert component(page, "shades")["query"] == 3
    title = charts(page)["detail"]["data"][-1]["colorbar"]["title"]["text"]
    assert "log scale" in title
    assert "renormalised" in title
    assert [row["title"] for row in measured(page)["rows"] if row["chosen"]] == ["SDPA"]


def test_choice_is_written_to_the_address_and_defaults_are_not():
    page = open_page()
    assert dict(page.query_params) == {}
    page.number_input(key="layer_widget").set_value(2).run()
    typed(page, "one two")
    assert page.query_params["layer"] in ("2", ["2"])
    assert page.query_params["text"] in ("one two", ["one two"])
    assert "head" not in page.query_params


def test_head_layer_and_query_stay_when_the_text_changes():
    page = typed(open_page(layer=1, head=3, query=7), "a b")
    assert component(page, "link")["value"] == [1, 3]
    assert component(page, "shades")["query"] == 2  # the last token stands in
    typed(page, "a b c d e f g h i j k")
    assert component(page, "shades")["query"] == 7


def test_sample_replaces_the_text():
    page = open_page()
    page.button_group(key="sample").set_value(SAMPLES[2].name).run()
    assert page.text_area[0].value == SAMPLES[2].text


def test_sample_stays_when_the_page_says_what_was_there_before_it():
    """What asks the page to run again, between a choice and its answer, says that too."""
    page = open_page(text="two words")
    before = page._tree.get_widget_states()
    page.button_group(key="sample").set_value(SAMPLES[2].name).run()
    page._run(before)
    assert page.session_state["text"] == page.text_area[0].value == SAMPLES[2].text


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "There is no text yet"),
        (" \n\t ", "only blanks and line breaks"),
        ("word " * 400, "the first 256"),
    ],
)
def test_special_text_gets_one_sentence_and_is_kept(text, sentence):
    page = typed(open_page(), text)
    assert len(said(page)) == 1
    assert sentence in said(page)[0]
    assert page.text_area[0].value == text
    assert bool(charts(page)) == bool(text)


def test_hundred_thousand_characters_are_kept_and_the_first_tokens_shown():
    text = "x" * 100_000
    page = typed(open_page(), text)
    assert page.text_area[0].value == text
    assert len(component(page, "strip")["labels"]) == 256
    assert len(np.ravel(page.query_params["text"])[0]) == LONGEST_ADDRESS_TEXT


def test_one_token_is_one_cell_and_a_row():
    page = typed(open_page(), "a")
    assert component(page, "strip")["labels"] == ["<bos>", "a"]
    assert said(page) == []


def test_hostile_text_is_data_never_markup():
    page = typed(open_page(), HOSTILE)
    assert page.text_area[0].value == HOSTILE
    labels = component(page, "strip")["labels"]
    assert labels[1:3] == ["<", "/"]
    for element in (*page.markdown, *page.caption):
        assert "<img" not in element.value
        assert "<style" not in element.value
    assert all("<" not in text for text in charts(page)["detail"]["layout"]["xaxis"]["ticktext"])


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ({"layer": "x"}, "layer in the address must be a whole number"),
        ({"layer": 99}, "layer must be 0 to 3"),
        ({"head": 99}, "head must be 0 to 7"),
        ({"colour": "jet"}, "colour in the address must be one of"),
        ({"view": "nowhere"}, "view in the address must be one of"),
        ({"model": "/etc"}, "/etc must hold config.json"),
        ({"dtype": "int8"}, "dtype must be one of"),
        ({"implementation": "loop"}, "Heads can be run as looped, batched, sdpa, "),
    ],
)
def test_bad_address_gets_one_sentence_and_a_picture(query, sentence):
    page = open_page(**query)
    assert len(said(page)) == 1
    assert sentence in said(page)[0]
    assert "detail" in charts(page)


def test_device_that_is_not_here_is_refused_with_the_reason(monkeypatch):
    here = devices.Device("cpu", "cpu", "CPU", ("float32",))
    gone = devices.Device("cuda", "cuda", "CUDA", why_not="no CUDA device or driver is found")
    monkeypatch.setattr(devices, "_devices", lambda: (here, gone))
    page = open_page(device="cuda")
    assert len(said(page)) == 1
    assert "no CUDA device or driver is found" in said(page)[0]
    assert "CPU with float32 is used" in said(page)[0]
    offered = page.selectbox[0]
    assert offered.value == "cpu"
    assert offered.options == ["CPU", "CUDA: not here, no CUDA device or driver is found"]
    offered.set_value("cuda").run()
    assert "no CUDA device" in said(page)[0]
    assert page.selectbox[0].value == "cpu"


@pytest.fixture
def broken_model(tmp_path, monkeypatch):
    """A folder beside the embedded model whose weights hold a NaN."""
    folder = tmp_path / "models" / "broken"
    shutil.copytree(EMBEDDED, folder)
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"][0] = torch.nan
    save_file(weights, folder / "model.safetensors")
    monkeypatch.chdir(tmp_path)
    return "models/broken"


def test_model_with_nan_weights_is_one_sentence_and_the_embedded_one_is_shown(broken_model):
    page = open_page(model=broken_model, text="kept")
    assert len(said(page)) == 1
    assert "NaN" in said(page)[0]
    assert page.text_area[0].value == "kept"
    assert "detail" in charts(page)
    assert "model" not in page.query_params


def test_out_of_memory_is_one_sentence(monkeypatch):
    from attention.model import LanguageModel

    def full(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")

    monkeypatch.setattr(LanguageModel, "stream", full)
    page = open_page(text="a text that nobody has run before this test")
    assert len(said(page)) == 1
    assert "memory" in said(page)[0]
    assert charts(page) == {}


def test_fault_of_ours_is_logged_and_shows_no_traceback(monkeypatch, caplog):
    from attention.model import LanguageModel

    def fail(*_, **__):
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(LanguageModel, "run", fail)
    page = open_page(text="another text that nobody has run before this test")
    assert "This is our fault" in said(page)[0]
    assert "secret detail" not in "".join(said(page))
    assert "secret detail" in caplog.text


def test_runs_really_go_through_the_chosen_implementation(monkeypatch):
    from attention.model import LanguageModel

    used = []
    run = LanguageModel.run

    def watched(self, tokens, *, implementation="sdpa", **rest):
        used.append(implementation)
        return run(self, tokens, implementation=implementation, **rest)

    monkeypatch.setattr(LanguageModel, "run", watched)
    page = open_page(text="a text for the toggle test alone", implementation="looped")
    page.button_group(key="implementation_widget").set_value("sdpa").run()
    assert used == ["looped", "sdpa"]


def test_fewer_heads_are_timed_when_asked():
    page = open_page(timed_heads=3)
    measured(page)
    assert any("With 3 heads a layer" in note.value for note in page.markdown)
    page.number_input(key="timed_heads_widget").increment().run()
    measured(page)
    assert any("With 4 heads a layer" in note.value for note in page.markdown)


def test_see_why_opens_the_other_view():
    page = open_page()
    page.button(key="see_why").click().run()
    assert page.session_state["view"] == "loop-vs-batch"


@pytest.mark.parametrize(
    ("query", "sentence"),
    [({"colour": "jet"}, "colour in the address"), ({"layer": 99}, "layer must be 0 to 3")],
)
def test_sentence_about_the_address_outlives_the_first_map(monkeypatch, query, sentence):
    # The map that is drawn before torch is there is followed by a run from the top.
    monkeypatch.setattr(resources, "_torch_is_there", threading.Event())
    page = open_page(**query)
    assert len(said(page)) == 1
    assert sentence in said(page)[0]
