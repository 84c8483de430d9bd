"""What the choice of a model tells of each, and what the page does with an odd one."""

import pytest

from attention.implementations import IMPLEMENTATIONS
from attention.loading import KnownModel
from attention.model import LanguageModel
from components import resources
from components.model_picker import count, details
from tests import builders
from tests.components.model_page import listed, look_behind_the_button, open_page, saved, seen


def test_line_of_a_model_has_sizes_dtype_and_the_memory_it_needs():
    config = builders.model_config(num_layers=5, num_heads=9, num_kv_heads=3)
    said = details(KnownModel("x", config, None, "x", 12_345, "Q4_1"), "float32")
    assert said.startswith("5 layers × 9 heads, 3 kv · ")
    assert "Q4_1, 12.3 kB on disk" in said
    assert "needs" in said
    assert said.endswith("in float32")


def test_line_of_a_model_that_does_not_fit_says_so():
    found = KnownModel("x", builders.model_config(), None, "x", 1, "float32")
    assert details(found, "float32", 100).endswith("in float32, more than is free")
    assert details(found, "float32", 10**9).endswith("in float32")


def test_line_of_a_broken_model_says_why():
    assert details(KnownModel("x", None, "it is torn.", "x"), "float32") == (
        "Cannot be opened: it is torn."
    )


@pytest.mark.parametrize(
    ("numbers", "said"),
    [(731, "731"), (26_500, "26.5k"), (4_790_000, "4.79M"), (999_700_000, "1.00B")],
)
def test_parameters_are_counted_with_three_digits(numbers, said):
    assert count(numbers) == said


def test_list_names_every_model_and_what_is_free(models_folder):
    source = saved(models_folder / "small")
    page = look_behind_the_button(open_page())
    assert list(listed(page)) == ["embedded", "small"]
    assert any("of memory free on CPU" in note.value for note in page.caption)
    assert [button for button in page.button if button.key == "unload"] == []
    listed(page)["small"].click().run()
    assert seen(page).source == source
    assert look_behind_the_button(page).button(key="unload").label == "Unload small"


def test_model_that_cannot_be_opened_is_listed_with_the_reason_and_no_choice(models_folder):
    (models_folder / "broken").mkdir(parents=True)
    (models_folder / "broken" / "config.json").write_text("{", encoding="utf-8")
    page = look_behind_the_button(open_page())
    assert listed(page)["broken"].disabled
    assert any(note.value.startswith("Cannot be opened") for note in page.caption)


def test_nothing_is_looked_for_before_the_list_is_opened(monkeypatch):
    monkeypatch.setattr(resources, "models", lambda: pytest.fail("the list is closed"))
    open_page()


def test_model_by_its_path_is_in_the_list_while_it_is_shown(tmp_path):
    source = saved(tmp_path / "elsewhere")
    page = look_behind_the_button(open_page(model=source))
    assert seen(page).source == source
    assert page.button(key="model_by_path").label.replace("\\", "") == source


def test_way_that_the_model_cannot_be_run_in_is_not_offered(monkeypatch):
    require = LanguageModel.require

    def without_sdpa(self, implementation):
        require(self, "torch" if implementation == "sdpa" else implementation)

    monkeypatch.setattr(LanguageModel, "require", without_sdpa)
    page = open_page()
    titles = [IMPLEMENTATIONS[name].title for name in ("looped", "batched")]
    assert page.button_group(key="implementation_widget").options == titles
