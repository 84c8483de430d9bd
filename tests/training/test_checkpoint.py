from dataclasses import replace

import pytest
import torch

from attention.errors import HeadscopeError
from attention.training.checkpoint import (
    LogEntry,
    Progress,
    load_checkpoint,
    save_checkpoint,
)

ENTRY = LogEntry("heads", 2, 30, 1.5, 4.0, 5.0, 0.5, 0.1, 0.2, 0.3, 0.4)


def save(path, progress):
    save_checkpoint(
        path, progress, recipe="r", weights={"w": torch.ones(3)}, optimizer={"state": {}}
    )


def test_what_was_saved_comes_back(tmp_path):
    progress = Progress(stage=1, step=7, tokens=99, seconds=2.5, recent=[1.0], log=[ENTRY])
    save(tmp_path / "c.pt", progress)
    found = load_checkpoint(tmp_path / "c.pt", "r")
    assert found is not None
    assert found.progress == progress
    torch.testing.assert_close(found.weights["w"], torch.ones(3))


def test_no_checkpoint_is_none(tmp_path):
    assert load_checkpoint(tmp_path / "c.pt", "r") is None


def test_another_runs_checkpoint_is_refused(tmp_path):
    save(tmp_path / "c.pt", Progress())
    with pytest.raises(HeadscopeError, match="settings it began with"):
        load_checkpoint(tmp_path / "c.pt", "another")


def test_a_kill_while_writing_leaves_the_old_checkpoint(tmp_path, monkeypatch):
    path = tmp_path / "c.pt"
    save(path, Progress(step=1))

    def killed(state, file):
        file.write(b"half a")
        raise KeyboardInterrupt

    monkeypatch.setattr(torch, "save", killed)
    with pytest.raises(KeyboardInterrupt):
        save(path, Progress(step=2))
    found = load_checkpoint(path, "r")
    assert found is not None
    assert found.progress.step == 1


def test_the_next_stage_starts_at_step_0_and_keeps_the_rest():
    progress = Progress(stage=0, step=9, tokens=50, seconds=3.0, log=[ENTRY])
    progress.enter_next_stage()
    assert progress == Progress(
        stage=1, step=0, tokens=50, seconds=3.0, stage_started=3.0, log=[replace(ENTRY)]
    )
