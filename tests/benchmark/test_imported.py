import json

import pytest

from attention.benchmark import BenchmarkSettings, environment
from attention.benchmark.export import to_json
from attention.benchmark.imported import LARGEST_MB, ResultError, read_run
from attention.benchmark.limit import Limit
from attention.benchmark.measurement import Measurement

SETTINGS = BenchmarkSettings(
    heads=(3,), d_out=15, seq_len=11, threads=2, implementations=("looped", "batched")
)
LOOP = Measurement(
    implementation="looped",
    num_heads=3,
    head_dim=5,
    d_out=15,
    weights=("3 × heads.*.W_query (5, 15)",),
    output=(1, 11, 15),
    samples=(3.0, 3.5),
    equal=True,
    output_difference=2e-7,
    flops=7,
    limit=Limit((1.0,), (2.0, 3.0)),
    limit_ms=1.5,
    operators=11,
)
LOST = Measurement(
    implementation="batched", num_heads=3, head_dim=5, d_out=15, error="memory must be enough."
)


def written(**changes):
    content = json.loads(to_json(SETTINGS, environment(SETTINGS), [LOOP, LOST]))
    for path, value in changes.items():
        *way, last = path.split("__")
        place = content
        for key in way:
            place = place[int(key) if key.isdigit() else key]
        place[last] = value
    return json.dumps(content).encode()


def refusal(data):
    with pytest.raises(ResultError) as found:
        read_run(data)
    said = str(found.value)
    assert len(said.splitlines()) == 1
    return said


def test_what_was_exported_comes_back_whole():
    run = read_run(written())
    assert run.settings == SETTINGS
    assert run.environment == environment(SETTINGS)
    assert run.measurements == (LOOP, LOST)


def test_difference_from_a_nan_comes_back_as_none():
    wrong = Measurement(
        implementation="looped", num_heads=3, head_dim=5, d_out=15, equal=False, error="Wrong.",
        output_difference=float("nan"),
    )  # fmt: skip
    text = to_json(SETTINGS, environment(SETTINGS), [wrong])
    assert read_run(text.encode()).measurements[0].output_difference is None


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "result file must be JSON"),
        (b"\xff\xfe", "result file must be JSON"),
        (b"{", "result file must be JSON"),
        (b"[" * 100_000, "result file must be JSON"),
        (b"[]", "result file must be of the format 'headscope-bench'"),
        (b'{"format": "x"}', "result file must be of the format 'headscope-bench'"),
        (b'{"format": "headscope-bench"}', "result file must be of version 2; got 'None'"),
        (b'{"format": "headscope-bench", "version": NaN}', "result file must be JSON"),
        (b"9" * 5_000, "result file must be JSON"),
        (b" " * ((LARGEST_MB << 20) + 1), "result file must have at most 32 MB"),
    ],
)
def test_what_is_no_result_file_is_refused_in_a_sentence(data, said):
    assert refusal(data).startswith(said)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"version": 1}, "result file must be of version 2; got '1'"),
        ({"version": True}, "result file must be of version 2"),
        ({"settings": None}, "settings of the result file must be an object"),
        ({"settings__threads": "2"}, "threads of the result file's settings must be of another"),
        ({"settings__seq_len": -1}, "seq_len of the result file's settings must be of another"),
        ({"settings__d_out": 16}, "settings of the result file must be possible: d_out must be"),
        ({"measurements__0__num_heads": 4}, "measurements of the result file must be possible"),
        ({"settings__implementations": ["loop"]}, "settings of the result file must be possible"),
        ({"settings__passes": "sideways"}, "passes of the result file's settings must be"),
        ({"environment": {}}, "environment of the result file must have cpu"),
        ({"environment__cpu": "x" * 9_999}, "cpu of the result file's environment must be"),
        ({"environment__allocator": "<b>"}, "allocator of the result file's environment must be"),
        ({"measurements": []}, "measurements of the result file must be a list of 1"),
        ({"measurements": {"0": 1}}, "measurements of the result file must be a list of 1"),
        ({"measurements__0__samples": [1.0, "2"]}, "samples of the result file's measurement"),
        ({"measurements__0__samples": [-1.0]}, "samples of the result file's measurement"),
        ({"measurements__0__samples": [0]}, "samples of the result file must be above 0"),
        ({"measurements__0__equal": 1}, "equal of the result file's measurement must be"),
        ({"measurements__0__limit": {"projections": [1]}}, "limit of the result file's"),
        ({"measurements__0__num_heads": 10**30}, "num_heads of the result file's measurement"),
        ({"measurements__0__head_dim": 7}, "measurements of the result file must fit"),
        ({"measurements__0__implementation": "sdpa"}, "measurements of the result file must fit"),
        ({"measurements__0__samples": [1e400]}, "result file must be JSON"),
    ],
)
def test_what_no_run_can_give_is_refused_in_a_sentence(changes, said):
    assert refusal(written(**changes)).startswith(said)


def test_fields_that_are_not_known_are_passed_over():
    assert read_run(written(measurements__0__colour="red")).measurements[0] == LOOP


def test_mark_that_an_editor_puts_first_is_passed_over():
    # Windows' Notepad saved a byte order mark, and the file was no JSON any more.
    assert read_run(b"\xef\xbb\xbf" + written()).measurements
