"""The training that is shipped, measured anew from its weights; and the reading of others."""

import json
import shutil

import pytest
import torch

from attention.errors import ConfigError, ModelError
from attention.families import attention_only
from attention.formation import HISTORY, SHIPPED, load_formation
from attention.scores import HEAD_METRICS
from attention.training.forming import FORMING, SETTINGS
from attention.training.forming_looks import watch_copies
from tests.builders import assert_arrays_close, ways

MOST_BYTES = 14_000_000


@pytest.fixture(scope="module")
def formation():
    return load_formation()


@pytest.fixture
def copied(tmp_path):
    return shutil.copytree(SHIPPED, tmp_path / "forming")


def best(formation, index):
    scores = watch_copies(formation.model(index)).scores
    return {name: float(table.max()) for name, table in scores.items()}


def test_it_is_small_and_has_between_20_and_30_checkpoints(formation):
    assert sum(path.stat().st_size for path in SHIPPED.iterdir()) < MOST_BYTES
    assert 20 <= len(formation) <= 30
    assert {path.name for path in SHIPPED.glob("*.safetensors")} == {
        f"tokens-{tokens:08d}.safetensors" for tokens in formation.tokens
    }


def test_it_is_the_model_of_the_recipe(formation):
    assert formation.model(0).config == FORMING
    assert {look.stage for look in formation.looks} == {stage.name for stage in SETTINGS.stages}


def test_at_the_start_no_head_finds_repeats(formation):
    assert formation.steps[0] == 0
    assert best(formation, 0)["induction"] < 0.1


def test_at_the_end_one_head_finds_repeats_and_one_looks_one_token_back(formation):
    found = best(formation, len(formation) - 1)
    assert found["induction"] >= 0.8
    assert found["previous_token"] >= 0.8


@pytest.mark.parametrize("index", [0, 12, 18, 24])
def test_history_holds_what_the_weights_give(formation, index):
    look, found = formation.looks[index], watch_copies(formation.model(index))
    # The file has four digits; another machine's sums are in another order.
    for name in HEAD_METRICS:
        assert_arrays_close(look.scores[name], found.scores[name], rtol=0, atol=1e-3)
    assert_arrays_close(
        [look.first_copy_loss, look.second_copy_loss],
        [found.first, found.second],
        rtol=0,
        atol=1e-2,
    )


def test_bump_is_where_the_best_induction_score_rises(formation):
    tokens, found = formation.history.tokens, formation.history.best("induction")
    start, end = formation.bump.start, formation.bump.end
    assert 0 < start < end < tokens[-1]
    assert found[tokens < start].max() < 0.1 * found[-1]
    assert found[tokens == end][0] >= 0.8 * found[-1]
    # Well resolved: a third of the checkpoints are in it, which is an eighth of the training.
    inside = [start <= t <= end for t in formation.tokens]
    assert sum(inside) >= len(formation) / 3


def test_repeats_are_learnt_in_the_bump_and_new_tokens_never(formation):
    history = formation.history
    inside = (history.tokens >= formation.bump.start) & (history.tokens <= formation.bump.end)
    second = history.losses("second_copy_loss")
    assert second[history.tokens < formation.bump.start].min() > 6  # log(1024) is 6.9
    assert second[inside][-1] < 1.5
    assert history.losses("first_copy_loss").min() > 6


def test_every_implementation_gives_the_same(formation):
    model = formation.model(24)
    expected = model.run("the cat sat on the cat", implementation="batched").logits
    for name in ways():
        found = model.run("the cat sat on the cat", implementation=name).logits
        # Float32 sums in another order, of logits of up to 20.
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-3)


def test_a_checkpoint_is_opened_once_and_each_is_another(formation):
    assert formation.model(3) is formation.model(3)
    assert not torch.equal(formation.model(3).embed.weight, formation.model(4).embed.weight)


@pytest.mark.parametrize("index", [-1, 25, "0"])
@pytest.mark.usefixtures("as_in_use")
def test_checkpoint_that_does_not_exist_is_refused(formation, index):
    with pytest.raises(ConfigError, match="checkpoint must be 0 to 24; got"):
        formation.model(index)


def test_card_names_the_bump_the_texts_and_how_to_make_it_anew(formation):
    card = (SHIPPED / "README.md").read_text(encoding="utf-8")
    for part in ("1.39M and 1.97M tokens", "WordNet 3.0 licence", "python -m attention forming"):
        assert part in card
    assert card.count("| L1H3 | induction |") == 1
    assert len([line for line in card.splitlines() if line.startswith("| 0.")]) > 5


def test_missing_checkpoint_is_named(copied, formation):
    gone = copied / f"tokens-{formation.tokens[7]:08d}.safetensors"
    gone.unlink()
    with pytest.raises(ModelError, match=f"must hold {gone.name}; it does not"):
        load_formation(copied)


def test_folder_without_a_history_is_refused_with_what_to_do(tmp_path):
    with pytest.raises(ModelError, match=r"must be the history of a training; .*attention forming"):
        load_formation(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"checkpoints": [9999]},
        {"checkpoints": []},
        {"tokens": None},
        {"scores": {}},
        {"stage": []},
    ],
)
def test_broken_history_is_refused(copied, change):
    stored = json.loads((copied / HISTORY).read_text())
    (copied / HISTORY).write_text(json.dumps({**stored, **change}))
    with pytest.raises(ModelError, match=r"history\.json must"):
        load_formation(copied)


def test_broken_weights_are_refused_when_they_are_asked_for(copied, formation):
    name = f"tokens-{formation.tokens[2]:08d}.safetensors"
    (copied / name).write_bytes(b"\0" * 100)
    found = load_formation(copied)
    with pytest.raises(ModelError, match="whole safetensors file"):
        found.model(2)
    assert found.model(1).config == FORMING


def test_model_type_is_our_own():
    config = json.loads((SHIPPED / "config.json").read_text())
    assert config["model_type"] == attention_only.NAME
    assert "architectures" not in config
