import subprocess
import sys

import pytest

from attention.benchmark import turn as module
from attention.benchmark.turn import turn, turn_file

HOLD = """
import sys
from pathlib import Path
from attention.benchmark.turn import turn
with turn(Path(sys.argv[1])):
    print("mine", flush=True)
    sys.stdin.read()
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="files are not locked there")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "turn"


@pytest.fixture
def other(path):
    """Another process that has the turn."""
    command = [sys.executable, "-c", HOLD, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        assert process.stdout.readline() == "mine\n"
        yield process
        process.kill()


def test_second_waits_until_the_first_is_done(path, other, monkeypatch):
    monkeypatch.setattr(module, "WAIT_S", 0.001)
    asked = []

    def waiting():
        asked.append(1)
        if len(asked) == 3:
            other.communicate()  # closes its stdin

    with turn(path, waiting):
        pass
    assert len(asked) == 3


def test_process_that_is_killed_gives_its_turn_back(path, other):
    other.kill()
    other.wait()
    with turn(path, lambda: pytest.fail("nobody has the turn")):
        pass


def test_turn_is_given_back_after_a_failure(path):
    with pytest.raises(OSError, match="mine"), turn(path):
        raise OSError("mine")
    with turn(path, lambda: pytest.fail("nobody has the turn")):
        pass


def test_nobody_waits_where_files_cannot_be_locked(tmp_path):
    with turn(tmp_path / "missing" / "turn"):
        pass


def test_each_user_has_a_file():
    assert turn_file().parent.is_dir()
