"""The command line as a whole: the list of commands, help, and how it refuses."""

import subprocess
import sys
from pathlib import Path

import click
import pytest

from attention import cli as module_under_test
from attention.cli import COMMANDS, cli, main
from attention.errors import TextError

ROOT = Path(__file__).parents[2]


def python(*arguments, **options):
    return subprocess.run(
        [sys.executable, *arguments],
        check=False,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        **options,
    )


def test_help_lists_every_command_in_order(capsys):
    assert main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("Commands:") + 1
    assert [line.split()[0] for line in lines[start:]] == list(COMMANDS)


def test_help_does_not_wait_for_torch():
    check = (
        "import sys; from attention.cli import main; main(['-h']); "
        "assert 'torch' not in sys.modules"
    )
    done = python("-c", check)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_of_its_own(name, capsys):
    command = cli.get_command(click.Context(cli), name)
    assert isinstance(command, click.Command)
    assert command.name == name
    assert main([name, "--help"]) == 0
    assert f"Usage: python -m attention {name}" in capsys.readouterr().out


def test_no_command_shows_the_help_and_fails(capsys):
    assert main([]) == 2
    assert "Commands:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nope"], "Error: No such command 'nope'."),
        (["run", "--nope"], "Error: No such option '--nope'"),
        (["models", "extra"], "Error: Got unexpected extra argument (extra)"),
        (["scores"], "Error: give one of --text, --text-file and --ids."),
    ],
)
def test_wrong_use_is_one_sentence(arguments, sentence, capsys):
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(sentence)
    assert len(err.splitlines()) == 1


def test_exit_code_and_sentence_reach_the_shell():
    done = python("-m", "attention", "scores", "--text-file", "no/such/file")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        "Error: text file must be readable; got 'no/such/file': No such file or directory.\n"
    )


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (TextError("text must be short; got long."), 2, "Error: text must be short; got long.\n"),
        (KeyboardInterrupt(), 130, "Stopped.\n"),
        (click.Abort(), 130, "Stopped.\n"),
    ],
)
def test_how_a_command_can_end(monkeypatch, capsys, error, code, words):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(module_under_test.cli, "main", fail)
    assert main([]) == code
    assert capsys.readouterr().err == words


@pytest.mark.parametrize("error", [ValueError("a bug"), RuntimeError("a bug")])
def test_fault_of_ours_is_not_passed_off_as_bad_input(monkeypatch, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(module_under_test.cli, "main", fail)
    with pytest.raises(type(error), match="a bug"):
        main([])


def test_reader_that_has_seen_enough_ends_it_quietly():
    command = (
        "import sys; sys.argv[1:] = ['--help']; from attention.cli import main; sys.exit(main())"
    )
    with subprocess.Popen(
        [sys.executable, "-c", command],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdout.close()  # as `| head -0` does
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 1


def test_terminal_that_cannot_show_a_character_gets_its_escape():
    # The line once ended in a UnicodeEncodeError.
    done = python(
        *("-m", "attention", "scores", "--text-file", "你"), env={"PYTHONIOENCODING": "latin-1"}
    )
    assert done.returncode == 2
    assert "got '\\u4f60'" in done.stderr
