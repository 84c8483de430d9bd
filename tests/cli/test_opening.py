import io
import sys

import pytest

from attention.cli.opening import Opening


class Clock:
    seconds = 0.0

    def __call__(self):
        return self.seconds


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """Stands for stderr once it is called; pytest would put its own back before the test."""
    made = Terminal()

    def begin():
        monkeypatch.setattr(sys, "stderr", made)
        return made

    return begin


def test_quick_opening_says_nothing(terminal):
    shown = terminal()
    clock = Clock()
    opening = Opening("x", clock)
    clock.seconds = 0.9
    opening(5, 7)
    opening.end()
    assert shown.getvalue() == ""


def test_long_opening_is_told_now_and_then_and_leaves_no_trace(terminal):
    shown = terminal()
    clock = Clock()
    opening = Opening("x", clock)
    for seconds, done in ((1.0, 1000), (1.1, 2000), (1.3, 30_000)):
        clock.seconds = seconds
        opening(done, 10**6)
    opening.end()
    lines = shown.getvalue().split("\r")
    told = ["Opening x: 1.00 kB of 1.00 MB", "Opening x: 30.0 kB of 1.00 MB"]
    assert lines == ["", *told, " " * len(told[1]), ""]


def test_no_terminal_is_told_nothing(capsys):
    clock = Clock()
    opening = Opening("x", clock)
    clock.seconds = 9.0
    opening(5, 7)
    opening.end()
    assert capsys.readouterr().err == ""
