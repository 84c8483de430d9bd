import json

import pytest
from streamlit.testing.v1 import AppTest

from components import live
from tests.components.bench_builders import point
from tests.components.bench_page import APP, LIMIT_S, measured, open_page, table, words


def test_heads_up_to_the_slider_are_measured(workers):
    page = measured(open_page(d_out=48, heads=4))
    assert list(table(page)["Heads"]) == ["1", "2", "3", "4"]
    assert workers[0].asked == [1, 2, 3, 4]


def test_sentence_is_computed_from_the_measurements(workers):
    page = measured(open_page(d_out=48, heads=4))
    said = words(page)
    assert "With the total width fixed at 48, each head added costs the loop 0.250 ms" in said
    assert "At 4 heads the loop takes 2.00× as long" in said


def test_plus_adds_the_next_head_count_and_measures_it_only(workers):
    page = measured(open_page(d_out=48, heads=4))
    page.button(key="bench_more").click().run()
    measured(page)
    assert page.select_slider[0].value == 6
    assert list(table(page)["Heads"])[-1] == "6"
    assert workers[0].asked == [1, 2, 3, 4, 6]


def test_minus_keeps_what_is_measured(workers):
    page = measured(open_page(d_out=48, heads=4))
    page.button(key="bench_fewer").click().run()
    measured(page)
    assert page.select_slider[0].value == 3
    assert list(table(page)["Heads"]) == ["1", "2", "3", "4"]


def test_state_is_in_the_address(workers):
    page = measured(open_page(d_out=48, heads=4))
    page.button(key="bench_more").click().run()
    assert page.query_params["heads"] == "6"
    assert page.query_params["d_out"] == "48"


def test_patience_can_be_set_under_advanced_and_reaches_the_process(workers):
    page = measured(open_page(d_out=48, heads=1))
    assert workers[0].settings.patience == 600
    page.sidebar.number_input(key="patience_widget").set_value(1200).run()
    page.button(key="bench_more").click().run()
    measured(page)
    assert workers[0].settings.patience == 1200
    assert workers[0].asked == [1, 2]  # what was measured stays
    assert page.query_params["patience"] == "1200"


def test_slider_offers_divisors_only(workers):
    page = open_page(d_out=15, heads=3)
    assert page.select_slider[0].options == ["1", "3", "5", "15"]


def test_head_count_that_does_not_divide_is_told_with_the_nearest(workers):
    page = open_page(d_out=48, heads=5)
    assert not page.exception
    said = words(page)
    assert "d_out must be divisible by num_heads; got d_out 48 and num_heads 5" in said
    assert page.select_slider[0].value == 4


def test_width_of_each_head_is_the_other_question(workers):
    page = measured(open_page(reading="per_head", d_out_per_head=5, heads=3))
    assert list(table(page)["d_out"]) == ["5", "10", "15"]
    assert list(table(page)["head_dim"]) == ["5", "5", "5"]
    assert "the layer itself grows" in words(page)


def test_both_questions_are_told_apart_in_words(workers):
    (question,) = open_page(d_out=48).radio
    assert question.options == ["Same total width", "Same width per head (the book's wrapper)"]


def test_text_decides_the_length_unless_another_is_set(workers):
    page = measured(open_page(d_out=48, heads=1, text="The keys to the cabinet"))
    length = int(table(page)["Output"][0].split(",")[1])
    assert 3 <= length <= 30
    page = measured(open_page(d_out=48, heads=1, seq_len=37))
    assert table(page)["Output"][0] == "(1, 37, 48)"


@pytest.mark.parametrize("text", ["", " ", "\n", "\x00", "</script><img onerror>", "א" * 5000])
def test_no_text_is_too_odd_to_measure(workers, text):
    page = AppTest.from_file(str(APP), default_timeout=LIMIT_S)
    page.query_params["view"] = "loop-vs-batch"
    page.query_params["heads"] = "1"
    page.run()
    page.session_state["text"] = text
    page.run()
    measured(page)
    assert len(table(page)) == 1


def test_measuring_can_be_stopped_and_gone_on_with(workers):
    workers.open_gate = False
    page = open_page(d_out=48, heads=4)
    assert not page.button(key="bench_stop").disabled
    page.button(key="bench_stop").click().run()
    page.run()
    assert page.button(key="bench_stop").disabled
    assert "Stopped." in words(page)
    workers.open_gate = True
    page.button(key="bench_resume").click().run()
    measured(page)
    assert list(table(page)["Heads"]) == ["1", "2", "3", "4"]


def test_sweep_measures_powers_of_two_up_to_the_most(workers):
    page = measured(open_page(d_out=48, heads=1, max_heads=8))
    page.button(key="bench_sweep").click().run()
    measured(page)
    assert workers[0].asked == [1, 1, 2, 4, 8]


def test_disturbed_points_can_be_measured_again(workers):
    def disturbed(asked, name, num_heads):
        return point(asked, name, num_heads, disturbed="busy" if num_heads == 2 else None)

    workers.make = disturbed
    page = measured(open_page(d_out=48, heads=3))
    assert list(table(page)["Note"]) == ["", "busy", ""]
    page.button(key="bench_again").click().run()
    measured(page)
    assert workers[0].asked == [1, 2, 3, 2]


def test_conditions_are_told(workers):
    said = words(measured(open_page(d_out=48, heads=2, threads=1)))
    for part in ("1 thread", "torch 2", "float32", "allocator as a user's program", "quiet"):
        assert part in said


def test_chart_keeps_its_figure_while_what_is_drawn_over_it_grows(workers, monkeypatch):
    """A change of the chart's own figure or words would mount it anew, with a blank."""
    over = []
    mount = live.mount
    monkeypatch.setattr(
        live, "mount", lambda name, key, data, on: over.append(data) or mount(name, key, data, on)
    )
    page = open_page(d_out=48, heads=3)
    first = page.get("plotly_chart")[0].proto
    kept = (first.spec, first.id)
    page.button(key="bench_more").click().run()
    measured(page)
    last = page.get("plotly_chart")[0].proto
    assert (last.spec, last.id) == kept
    names = [trace.get("name", "") for trace in json.loads(over[-1]["figure"])["data"]]
    assert any(name.startswith("Loop: 0.250 ms a head") for name in names)


def test_chart_that_nothing_can_be_drawn_over_gets_the_figure_itself(workers):
    page = open_page(d_out=48, heads=3)
    page.session_state["bench_chart_missing"] = True
    spec = json.loads(measured(page.run()).get("plotly_chart")[0].proto.spec)
    assert any("Loop: 0.250 ms a head" in trace.get("name", "") for trace in spec["data"])


def test_device_that_is_not_here_is_told_and_replaced(workers):
    page = open_page(d_out=48, heads=1, device="cuda:7")
    assert "device must be one of" in words(page)
    assert len(table(measured(page))) == 1


def test_sentence_stays_when_the_page_runs_again_by_itself(workers):
    """The end of measuring ran the page anew, without what had only been said once."""
    workers.open_gate = False
    page = open_page(d_out=48, heads=5)
    page.run()  # the reader does something
    assert "d_out must be divisible" not in words(page)
    page = open_page(d_out=48, heads=5)
    workers[-1].gate.set()
    page.session_state["messages_by_itself"] = True
    page.run()
    assert words(page).count("d_out must be divisible") == 1
