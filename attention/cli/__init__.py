"""The command line, `python -m attention <command>`: one file and one line a command."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

import click

BAD_INPUT = 2  # exit codes
STOPPED = 130


@dataclass(frozen=True)
class Entry:
    """Where a command lives, told without importing it (torch takes seconds).

    Attributes:
        module: its module in this package; holds a click command named as the command is.
        summary: what it does, for the list of commands.
    """

    module: str
    summary: str


COMMANDS: dict[str, Entry] = {
    "run": Entry("run", "Run a text and write its tokens, logits and patterns to a file."),
    "scores": Entry("scores", "Score and label every head on a text."),
    "generate": Entry("generate", "Go on writing a text."),
    "bench": Entry("bench", "Time the implementations against each other."),
    "trace": Entry("trace", "Show whether heads run at once, and where the time goes."),
    "models": Entry("models", "List the models found here, and whether each can be opened."),
    "train": Entry("train", "Make the embedded model anew."),
    "forming": Entry("forming", "Make the checkpoints of Watch heads form anew."),
}


class LazyGroup(click.Group):
    """The commands of the table, each imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None where there is no such one."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"{__name__}.{COMMANDS[cmd_name].module}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Look at every attention head of a language model, and at what it costs."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; bad input is one sentence on stderr.

    Args:
        arguments: what follows `python -m attention`; None for those of this process.

    Returns:
        the exit code: 0, 2 for bad input, 130 when stopped. Faults of ours are raised.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal without Unicode must not end the command
            stream.reconfigure(errors="backslashreplace")
    try:
        code = cli.main(arguments, prog_name="python -m attention", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return BAD_INPUT
    except click.ClickException as error:
        return _refuse(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped.", err=True)
        return STOPPED
    except ValueError as error:
        from attention.errors import HeadscopeError

        if not isinstance(error, HeadscopeError):
            raise
        return _refuse(str(error))
    return code if isinstance(code, int) else 0


def _refuse(sentence: str) -> int:
    click.echo(f"Error: {sentence}", err=True)
    return BAD_INPUT
