import json
import math

import pytest

from attention.cli import main
from attention.loading import load_model
from attention.scores import HEAD_METRICS, head_scores, probe_scores
from tests.builders import assert_arrays_close

TEXT = "the cat sat on the cat"


def printed(capsys, *arguments):
    assert main(["scores", *arguments]) == 0
    return capsys.readouterr().out


def as_arrays(found):
    return {
        metric: [[math.nan if value is None else value for value in layer] for layer in table]
        for metric, table in found["scores"].items()
    }


def test_json_holds_every_metric_of_every_head(model_folder, capsys):
    found = json.loads(printed(capsys, "--model", model_folder, "--text", TEXT, "--json"))
    expected = head_scores(load_model(model_folder).run(TEXT))
    assert list(found["scores"]) == list(HEAD_METRICS)
    for metric, table in as_arrays(found).items():
        assert_arrays_close(table, expected[metric])
    assert found["model"] == model_folder
    assert found["seq_len"] == 7
    assert [len(layer) for layer in found["labels"]] == [3, 3]


def test_what_the_text_cannot_show_is_null_in_json(model_folder, capsys):
    # Bare NaN is no JSON, and 0 would be a claim.
    out = printed(capsys, "--model", model_folder, "--text", "the cat", "--json")
    found = json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert found["scores"]["induction"] == [[None] * 3] * 2


def test_table_has_a_line_a_head(model_folder, capsys):
    lines = printed(capsys, "--model", model_folder, "--text", TEXT).splitlines()
    assert len(lines) == 1 + 2 * 3
    for metric in HEAD_METRICS.values():
        assert metric.title in lines[0]
    assert [line.split()[:2] for line in lines[1:]] == [
        [str(layer), str(head)] for layer in range(2) for head in range(3)
    ]
    starts = {line.rindex(line.split()[1]) for line in lines[1:] if line.split()[1] != "0"}
    assert starts


def test_what_the_text_cannot_show_is_a_dash_in_the_table(model_folder, capsys):
    lines = printed(capsys, "--model", model_folder, "--text", "the cat").splitlines()
    column = list(HEAD_METRICS).index("induction")
    assert all(line.split()[2 + column] == "–" for line in lines[1:])
    assert "nan" not in "\n".join(lines)


def test_single_token_is_scored(ids_folder, capsys):
    lines = printed(capsys, "--model", ids_folder, "--ids", "7").splitlines()
    assert lines[1].split() == ["0", "0", "–", "1.000", "–", "–", "–", "–"]


def test_probe_needs_no_text(ids_folder, capsys):
    found = json.loads(printed(capsys, "--model", ids_folder, "--probe", "--json"))
    expected = probe_scores(load_model(ids_folder))
    for metric, table in as_arrays(found).items():
        assert_arrays_close(table, expected[metric])
    assert found["seq_len"] == 61


def test_probe_and_a_text_are_refused(ids_folder, refused):
    sentence = refused("scores", "--model", ids_folder, "--probe", "--ids", "1")
    assert sentence == "give a text or --probe, not both."


def test_stdin_is_a_text_file(model_folder, capsys, monkeypatch):
    import io

    class Stdin:
        buffer = io.BytesIO(TEXT.encode())

    monkeypatch.setattr("sys.stdin", Stdin)
    piped = printed(capsys, "--model", model_folder, "--text-file", "-")
    assert piped == printed(capsys, "--model", model_folder, "--text", TEXT)


@pytest.mark.parametrize("text", ["", "a" * 100_000])
def test_bad_text_is_one_sentence(model_folder, refused, text):
    assert refused("scores", "--model", model_folder, "--text", text).startswith("text must")
