import pytest

from attention.benchmark.summary import rows
from components.figures.quantities import QUANTITIES
from components.parts.bench_table import columns, height
from tests.components.bench_builders import point, settings


def table(*heads, changes=None, quantity="time", **other):
    asked = settings(**other)
    found = [
        point(asked, name, n, **(changes or {}).get((name, n), {}))
        for n in heads
        for name in asked.implementations
    ]
    return columns(asked, rows(found), QUANTITIES[quantity])


def test_row_tells_sizes_times_ratio_shapes_and_equality():
    row = {title: cells[0] for title, cells in table(4).items()}
    assert row["Heads"] == "4"
    assert (row["head_dim"], row["d_out"]) == ("12", "48")
    assert row["Loop, ms (p10–p90)"] == "2.00 (1.92–2.08)"
    assert row["Loop / batch"] == "2.00×"
    assert row["max |Δ| output"] == "2.0e-07"
    assert row["W_query, loop"] == "4 × (12, 48)"
    assert row["Output"] == "(1, 11, 48)"
    assert row["Equal"] == "✓ yes"
    assert row["Note"] == ""


def test_what_failed_has_no_time_and_says_why():
    wrong = {"samples": (), "equal": False, "error": "Loop computed something else."}
    found = table(2, 4, changes={("looped", 4): wrong})
    assert found["Loop, ms (p10–p90)"][1] == "–"
    assert found["Loop / batch"] == ["1.50×", "–"]
    assert found["Equal"] == ["✓ yes", "✗ no"]
    assert found["Note"][1] == "Loop computed something else."


def test_reason_of_a_disturbed_row_is_told_once():
    busy = {("looped", 2): {"disturbed": "busy"}, ("batched", 2): {"disturbed": "busy"}}
    assert table(2, changes=busy)["Note"] == ["busy"]


def test_every_column_has_a_cell_for_each_row():
    assert {len(cells) for cells in table(1, 2, 4).values()} == {3}


@pytest.mark.parametrize(
    ("quantity", "title", "cell"),
    [
        ("share", "Loop, %", "25.0"),
        ("memory", "Loop, MB", "3.00"),
        ("operators", "Loop, operators", "1,280"),
        ("kernels", "Loop, kernels", "–"),
    ],
)
def test_columns_show_what_the_chart_shows(quantity, title, cell):
    busy = {("looped", 4): {"operators": 1280}}
    assert table(4, changes=busy, quantity=quantity)[title] == [cell]


def test_loop_and_batch_are_compared_only_where_both_are_measured():
    found = table(4, implementations=("looped", "sdpa"))
    assert "Loop / batch" not in found
    assert "W_query, loop" not in found


def test_samples_far_out_are_noted():
    slept = {("looped", 4): {"samples": (2.0, 2.0, 2.0, 2.0, 90_000.0)}}
    assert table(4, changes=slept)["Note"] == ["1 sample far out, left out"]


def test_gradients_have_a_column_where_there_are_some():
    changes = {("looped", 2): {"gradient_difference": 3e-7}}
    title = "max |Δ| gradients, relative"
    assert table(2, changes=changes, passes="backward")[title] == ["3.0e-07"]
    assert title not in table(2)


def test_what_is_not_possible_makes_no_row_unequal():
    gone = {"samples": (), "equal": None, "error": "it has no KV cache", "impossible": True}
    found = table(2, changes={("sdpa", 2): gone}, passes="decode")
    assert found["Equal"] == ["✓ yes"]
    assert found["Note"] == ["it has no KV cache"]
    everything = {(name, 2): gone for name in ("looped", "batched", "sdpa")}
    assert table(2, changes=everything)["Equal"] == ["–"]


def test_table_of_a_window_s_height_has_no_scroll_bar_of_its_own():
    """Of 12 head counts two were out of sight."""
    assert height(12) == "content"
    assert height(75) == "auto"
