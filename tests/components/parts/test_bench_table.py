from attention.benchmark.summary import rows
from components.parts.bench_table import columns
from tests.components.bench_builders import NAMES, point, settings


def table(*heads, changes=None):
    asked = settings()
    found = [
        point(asked, name, n, **(changes or {}).get((name, n), {})) for n in heads for name in NAMES
    ]
    return columns(asked, rows(found))


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
