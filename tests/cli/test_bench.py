import csv
import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from attention.benchmark import BenchmarkSettings, environment
from attention.benchmark.export import to_json
from attention.benchmark.measurement import Measurement
from attention.cli.bench import bench, parse_heads
from attention.cli.bench_table import conclusion, table
from attention.errors import ConfigError, HeadscopeError

QUICK = ["--min-run-time", "0.0001", "--seq-len", "11", "--d-in", "7"]


def run(*arguments):
    return CliRunner().invoke(bench, [*arguments, *QUICK], catch_exceptions=True)


def refusal(*arguments):
    result = run(*arguments)
    assert result.exit_code != 0
    assert isinstance(result.exception, HeadscopeError), result.exception
    return str(result.exception)


def test_table_fit_environment_and_files(tmp_path):
    json_file, csv_file = tmp_path / "b.json", tmp_path / "b.csv"
    result = run(
        "--heads", "1,3", "--implementations", "looped,batched", "--d-out", "15", "--threads", "1",
        "--json", str(json_file), "--csv", str(csv_file), "--formulas",
        "--svg", str(tmp_path / "b.svg"),
    )  # fmt: skip
    assert result.exit_code == 0, result.exception
    lines = result.output.splitlines()
    assert lines[0].startswith("forward, batch 1, 11 tokens; total width d_out 15")
    assert "1 thread" in lines[1]
    assert [line.split()[0] for line in lines[4:6]] == ["1", "3"]
    assert any(line.startswith("looped: ") and "ms a head" in line for line in lines)
    costs = lines.index(next(line for line in lines if line.startswith("Share of the FLOP/s")))
    assert "%" in lines[costs + 2]
    assert "Loop, q, k, v: 2·B·T·d_in·3·H·d = " in result.output
    found = json.loads(json_file.read_text(encoding="utf-8"))
    assert [m["num_heads"] for m in found["measurements"]] == [1, 1, 3, 3]
    assert all(m["equal"] for m in found["measurements"])
    assert (tmp_path / "b.svg").read_text(encoding="utf-8").startswith("<svg ")
    with csv_file.open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 4


def test_width_of_each_head_is_another_question():
    result = run("--heads", "3", "--d-out-per-head", "5", "--implementations", "looped")
    assert "d_out_per_head 5: the layer grows" in result.output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--heads", "1,4", "--d-out", "15"], "d_out must be divisible by num_heads"),
        (["--heads", "1,x"], "heads must be whole numbers such as 1,2,4,8; got '1,x'"),
        (["--heads", ""], "heads must be whole numbers"),
        (["--implementations", "loop"], "implementation must be one of"),
        (["--dtype", "float8"], "dtype must be one of"),
        (["--d-out", "15", "--d-out-per-head", "5"], "exactly one of d_out"),
        (["--threads", "0"], "threads must be a whole number of at least 1"),
        (["--csv", "/missing/folder/x.csv"], "file must be in a folder that exists"),
        (
            ["--overlay", "/missing.json"],
            "--overlay must be readable; got '/missing.json': No such",
        ),
        (["--overlay", "/dev/null"], "result file must be JSON"),
        (["--heads", "3", "--kv-heads", "2"], "num_kv_heads must divide num_heads; got 2 kv heads"),
        (["--patience", "0"], "patience must be above 0 seconds"),
    ],
)
def test_bad_input_is_one_sentence(arguments, sentence):
    assert refusal(*arguments).startswith(sentence)


def test_heads_are_read_in_order_and_once():
    assert parse_heads("8, 1,8,2") == (8, 1, 2)


def test_sign_or_other_digits_are_no_head_count():
    with pytest.raises(ConfigError):
        parse_heads("-1")
    with pytest.raises(ConfigError):
        parse_heads("²")


def test_each_head_count_has_its_line_as_soon_as_it_is_measured():
    settings = BenchmarkSettings(heads=(1, 3), d_out=15)
    sizes = {"head_dim": 5, "d_out": 15, "samples": (2.0,), "equal": True}
    taken = []

    def measured():
        for num_heads in (1, 3):
            for name in ("looped", "batched"):
                taken.append(num_heads)
                yield Measurement(implementation=name, num_heads=num_heads, **sizes)

    lines = table(settings, measured())
    next(lines)
    first = next(lines)
    assert 3 not in taken[:-1]
    assert first.split() == ["1", "15", "2.00", "(2.00–2.00)", "2.00", "(2.00–2.00)", "1.00×", "–"]


def test_run_without_a_single_time_fails_after_its_files_are_written(tmp_path, monkeypatch):
    # It ended with exit code 0 when no point fitted into the memory.
    failed = Measurement(
        implementation="looped", num_heads=3, head_dim=5, d_out=15, error="memory must be enough."
    )
    monkeypatch.setattr("attention.benchmark.sweep", lambda settings: iter([failed]))
    path = tmp_path / "b.json"
    said = refusal(
        "--heads", "3", "--d-out", "15", "--implementations", "looped", "--json", str(path)
    )
    assert said.startswith("at least one point must be measured; none was")
    assert path.exists()


def test_what_failed_has_no_time_in_the_table_and_a_sentence_below():
    settings = BenchmarkSettings(heads=(3,), d_out=15, implementations=("looped",))
    failed = Measurement(
        implementation="looped", num_heads=3, head_dim=5, d_out=15, error="memory must be enough."
    )
    assert list(table(settings, iter([failed])))[1].split() == ["3", "5", "failed", "–", "–"]
    assert "memory must be enough." in list(conclusion(settings, [failed]))


def test_disturbed_time_has_a_star():
    settings = BenchmarkSettings(heads=(3,), d_out=15, implementations=("looped",))
    busy = Measurement(
        implementation="looped", num_heads=3, head_dim=5, d_out=15,
        samples=(2.0,), equal=True, disturbed="other programs kept 2.0 of 2 cores busy",
    )  # fmt: skip
    assert " *" in list(table(settings, iter([busy])))[1]


def test_head_count_of_thousands_of_digits_is_one_sentence():
    # Python itself refuses to read so many digits.
    with pytest.raises(ConfigError, match="heads must be whole numbers such as"):
        parse_heads("9" * 5_000)


def test_line_below_zero_at_no_heads_is_written_with_one_sign():
    settings = BenchmarkSettings(heads=(1, 3), d_out=15, implementations=("looped",))
    found = [
        Measurement(
            implementation="looped", num_heads=n, head_dim=5, d_out=15, samples=(ms,), equal=True
        )
        for n, ms in ((1, 1.0), (3, 5.0))
    ]
    assert "looped: 2.00 ms a head − 1.00 ms, R² –" in list(conclusion(settings, found))


LOOPED = BenchmarkSettings(heads=(1, 3), d_out=15, implementations=("looped",))


def looped(num_heads, ms):
    return Measurement(
        implementation="looped", num_heads=num_heads, head_dim=15 // num_heads, d_out=15,
        samples=(ms,), equal=True, limit_ms=ms / 4, peak_bytes=3_000_000, operators=17,
    )  # fmt: skip


def sweep_of(*found, then=None):
    def measured(settings):
        yield from found
        if then is not None:
            raise then

    return measured


RUN = ("--heads", "1,3", "--d-out", "15", "--implementations", "looped", "--seq-len", "64")


def test_two_runs_stand_side_by_side(tmp_path, monkeypatch):
    path = tmp_path / "lab.json"
    lab = replace(environment(LOOPED), device="cuda:0", device_title="NVIDIA H200")
    path.write_text(to_json(LOOPED, lab, [looped(3, 1.0)]), encoding="utf-8")
    monkeypatch.setattr("attention.benchmark.sweep", sweep_of(looped(1, 2.0), looped(3, 4.0)))
    said = run(*RUN, "--overlay", str(path)).output
    assert "ms here | there, on NVIDIA H200" in said
    assert "4.00 | 1.00 (0.250×)" in said
    assert "At 3 heads on NVIDIA H200, float32: Loop 1.00 ms against 4.00 ms here" in said
    assert "NVIDIA H200, float32 measured something else: d_in None (here 7), seq_len 64" in said


def test_points_are_kept_when_it_is_stopped(tmp_path, monkeypatch):
    # Ctrl-C after an hour of measuring left nothing.
    path = tmp_path / "b.json"
    stopped = sweep_of(looped(1, 2.0), then=KeyboardInterrupt)
    monkeypatch.setattr("attention.benchmark.sweep", stopped)
    result = run(*RUN, "--json", str(path))
    assert result.exit_code != 0
    assert len(json.loads(path.read_text(encoding="utf-8"))["measurements"]) == 1


def test_share_memory_and_operators_are_told():
    lines = list(conclusion(LOOPED, [looped(3, 4.0)]))
    assert lines[1].startswith("Share of the FLOP/s of plain matrix products, peak memory")
    assert lines[3].split(maxsplit=2) == ["3", "5", "25%, 3.00 MB, 17"]
    compiled = list(conclusion(LOOPED, [replace(looped(3, 4.0), compile_s=6.54)]))
    assert "17, 6.5 s to compile" in compiled[3]


def test_decode_step_is_timed_and_what_has_no_cache_is_told(tmp_path):
    csv_file = tmp_path / "b.csv"
    result = run(
        "--heads", "3", "--implementations", "torch,looped,batched", "--d-out", "7", "--pass",
        "decode", "--heads", "1", "--csv", str(csv_file), "--svg", str(tmp_path / "b.svg"),
    )  # fmt: skip
    assert result.exit_code == 0, result.exception
    assert result.output.startswith("decode, batch 1, 1 token after 11; total width")
    assert "not possible" in result.output
    assert "PyTorch MHA: it has no KV cache" in result.output
    with csv_file.open(encoding="utf-8") as file:
        table = {row["implementation"]: row for row in csv.DictReader(file)}
    assert (table["torch"]["impossible"], table["torch"]["median_ms"]) == ("True", "")
    assert (table["looped"]["passes"], table["looped"]["output"]) == ("decode", "(1, 1, 7)")
    assert "PyTorch MHA: not possible at 1 head" in (tmp_path / "b.svg").read_text(encoding="utf-8")


def test_difference_of_gradients_has_a_column_of_the_table():
    result = run(
        "--heads", "3", "--implementations", "looped", "--d-out", "15", "--pass", "backward"
    )
    titles, row = result.output.splitlines()[3:5]
    assert titles.endswith("max |Δ|  grad |Δ|")
    assert 0 < float(row.split()[-1]) <= 2e-5
