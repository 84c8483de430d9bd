import numpy as np
import pytest
import torch

from attention.config import AttentionConfig
from attention.errors import HeadscopeError
from attention.model_config import ModelConfig
from attention.training.initialise import initialise
from attention.training.rows import RowMix, Texts
from attention.training.stages import Gate, Stage
from attention.training.train import Trainer, TrainSettings

VOCAB_SIZE = 31
MODEL = ModelConfig(
    vocab_size=VOCAB_SIZE,
    num_layers=2,
    d_mlp=13,
    attention=AttentionConfig.total(12, 12, 3, 17, qkv_bias=True),
    bos_token_id=0,
)
MIX = RowMix(random=0.5, copies=0.2)
FIRST = Stage(name="first", length=16, mix=MIX, learning_rate=5e-3, max_steps=5, warmup_steps=2)
SECOND = Stage(
    name="second",
    length=17,
    mix=MIX,
    learning_rate=5e-3,
    max_steps=4,
    hold=0.4,
    final=0.05,
    drop_heads=0.3,
    restarted=((1, 2),),
)


def make_trainer(folder, stages=(FIRST, SECOND), seed=0, minutes=None, report=None):
    rng = np.random.default_rng(1)
    texts = Texts.build(
        [rng.integers(1, VOCAB_SIZE, 211)], [1.0], vocab_size=VOCAB_SIZE, pool_size=7
    )
    windows = torch.from_numpy(rng.integers(1, VOCAB_SIZE, (3, 17)))
    settings = TrainSettings(
        model=MODEL,
        stages=stages,
        seed=seed,
        tokens_per_step=64,
        evaluate_every=3,
        save_every=2,
        minutes=minutes,
    )
    return Trainer(settings, texts, windows, folder, report or (lambda line: None))


def without_time(log):
    return [(e.stage, e.step, e.tokens, e.train_loss, e.loss, e.induction) for e in log]


def test_a_killed_run_goes_on_and_ends_as_one_never_killed(tmp_path):
    whole = make_trainer(tmp_path / "whole")
    whole.run()

    for steps in (3, 4):  # the first kill loses step 3; the second falls into stage two
        killed = make_trainer(tmp_path / "killed")
        for _ in range(steps):
            killed.step()
    resumed = make_trainer(tmp_path / "killed")
    assert resumed.progress.tokens < whole.progress.tokens
    resumed.run()

    for name, weight in whole.model.state_dict().items():
        torch.testing.assert_close(resumed.model.state_dict()[name], weight, rtol=0, atol=0)
    assert without_time(resumed.progress.log) == without_time(whole.progress.log)


def test_heads_begin_anew_with_their_stage_and_only_then(tmp_path):
    trainer = make_trainer(tmp_path)
    while trainer.stage is FIRST:
        trainer.step()
    before = trainer.model.head_weights(1).W_Q.clone()
    trainer.optimizer.set_rate(0.0)
    trainer.restart_heads()
    after = trainer.model.head_weights(1).W_Q.clone()
    assert not torch.equal(after[2], before[2])
    torch.testing.assert_close(after[:2], before[:2], rtol=0, atol=0)
    trainer.step()
    first = trainer.model.head_weights(1).W_Q[2].clone()
    trainer.step()  # goes on from there: it does not begin anew in each step
    second = trainer.model.head_weights(1).W_Q[2]
    assert (second - first).abs().max() < 0.02
    assert (first - after[2]).abs().max() < 0.02


def test_a_run_that_is_over_does_nothing_when_started_again(tmp_path):
    make_trainer(tmp_path).run()
    again = make_trainer(tmp_path)
    assert again.done
    tokens = again.progress.tokens
    again.run()
    assert again.progress.tokens == tokens


def test_another_seed_is_another_run(tmp_path):
    make_trainer(tmp_path).run()
    with pytest.raises(HeadscopeError, match="settings it began with"):
        make_trainer(tmp_path, seed=1)


def test_the_loss_falls(tmp_path):
    long = Stage(name="s", length=16, mix=RowMix(0.0, 0.0), learning_rate=1e-2, max_steps=60)
    trainer = make_trainer(tmp_path, (long,))
    inputs = torch.tensor([[0, 1, 2, 3]])
    targets = torch.tensor([[1, 2, 3, 4]])
    trainer.optimizer.set_rate(1e-2)
    losses = [trainer.learn(inputs, targets) for _ in range(30)]
    assert losses[-1] < losses[0] / 2


def test_the_end_of_every_stage_is_told(tmp_path):
    trainer = make_trainer(tmp_path)
    ended = []
    trainer.run(after_stage=lambda: ended.append(trainer.progress.stage))
    assert ended == [1, 2]


def test_a_gate_that_is_passed_ends_its_stage_early(tmp_path):
    gated = Stage(
        name="g", length=16, mix=MIX, learning_rate=1e-3, max_steps=50, until=Gate("induction", 0.0)
    )
    trainer = make_trainer(tmp_path, (gated,))
    trainer.run()
    assert trainer.progress.tokens == 3 * 64  # at the first look


def test_a_gate_that_is_not_passed_is_one_sentence(tmp_path):
    gated = Stage(
        name="g", length=16, mix=MIX, learning_rate=1e-3, max_steps=2, until=Gate("induction", 0.99)
    )
    with pytest.raises(HeadscopeError, match=r"induction must pass 0\.99 within 2 steps"):
        make_trainer(tmp_path, (gated,)).run()


def test_the_last_stage_is_fitted_into_the_minutes(tmp_path):
    trainer = make_trainer(tmp_path, minutes=1.0)
    trainer.progress.stage = 1
    trainer.progress.stage_started = 20.0
    trainer.progress.seconds = 40.0
    assert trainer.stage_share() == pytest.approx(0.5)


def test_a_look_is_one_line_with_stage_loss_heads_speed_and_time(tmp_path):
    lines = []
    make_trainer(tmp_path, report=lines.append).run()
    for part in ("first step 3/5", "held out", "induction", "@L", "tokens/s", "min"):
        assert part in lines[0]
    assert all("\n" not in line for line in lines)


def test_first_weights_are_small_seeded_and_biases_zero(tmp_path, generator):
    model = make_trainer(tmp_path).model
    initialise(model, generator)
    state = model.state_dict()
    # Loose: 144 and 372 draws.
    torch.testing.assert_close(state["embed.weight"].std().item(), 0.02, rtol=0.2, atol=0)
    torch.testing.assert_close(
        state["blocks.0.attn.out_proj.weight"].std().item(), 0.01, rtol=0.3, atol=0
    )
    assert not state["blocks.1.attn.W_query.bias"].any()
    assert (state["norm.weight"] == 1).all()
