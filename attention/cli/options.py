"""Options that several commands share: which model, which text."""

import functools
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attention.errors import TextError

if TYPE_CHECKING:
    from attention.model import LanguageModel
    from attention.tokens import Tokens

Command = Callable[..., None]
STDIN = "-"
MODEL_HELP = "embedded, a folder, a file (.safetensors, .gguf, .pt), or owner/name of the hub."


@dataclass(frozen=True)
class ModelChoice:
    """The model that a command line asks for."""

    source: str
    device: str
    dtype: str
    num_heads: int | None = None

    def load(self) -> "LanguageModel":
        """Open it.

        Raises:
            ModelError: when it cannot be opened.
            DeviceError: when the device or the dtype cannot be used here.
        """
        from attention.cli.opening import Opening
        from attention.devices import DTYPES, find_device
        from attention.loading import load_model

        find_device(self.device, self.dtype)
        opening = Opening(self.source)
        try:
            return load_model(
                self.source,
                device=self.device,
                dtype=DTYPES[self.dtype],
                num_heads=self.num_heads,
                progress=opening,
            )
        finally:
            opening.end()


@dataclass(frozen=True)
class TextChoice:
    """The text or the token ids that a command line gives, at most one of the three."""

    text: str | None
    text_file: str | None
    ids: str | None
    bos: bool | None = None

    @property
    def count(self) -> int:
        """How many of the three were given."""
        return sum(given is not None for given in (self.text, self.text_file, self.ids))

    def read(self) -> str | list[int]:
        """The text as it is, or the token ids.

        Raises:
            UsageError: when not exactly one of the three was given, or BOS beside ids.
            TextError: when the file cannot be read or the ids are no numbers.
        """
        if self.count != 1:
            raise click.UsageError("give one of --text, --text-file and --ids.")
        if self.bos is not None and self.ids is not None:
            raise click.UsageError("--bos and --no-bos are for a text; ids are run as they are.")
        if self.text_file is not None:
            return read_text(self.text_file)
        return parse_ids(self.ids) if self.ids is not None else self.text or ""

    def tokens(self, read: str | list[int], model: "LanguageModel") -> "Tokens":
        """What was read as the model's tokens, with BOS or without as asked for.

        Raises:
            TextError: when the model cannot read it, or has no BOS to put first.
        """
        from attention.tokens import read as as_tokens

        if isinstance(read, str):
            return model.tokens(as_tokens(read, model.tokenizer, model.name, bos=self.bos))
        return model.tokens(read)


def read_text(name: str) -> str:
    """A UTF-8 file as it is (line ends kept), or stdin for `-`.

    Raises:
        TextError: when it cannot be read or is not UTF-8.
    """
    try:
        data = sys.stdin.buffer.read() if name == STDIN else Path(name).read_bytes()
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TextError(
            f"text file must be UTF-8; {name!r} has the byte 0x{error.object[error.start]:02X} at "
            f"position {error.start}. Save it as UTF-8."
        ) from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise TextError(f"text file must be readable; got {name!r}: {reason}.") from error


def parse_ids(text: str) -> list[int]:
    """Token ids between blanks or commas.

    Raises:
        TextError: when something else is among them.
    """
    parts = text.replace(",", " ").split()
    wrong = [part for part in parts if not re.fullmatch("-?[0-9]{1,18}", part)]
    if wrong:
        raise TextError(f"token ids must be whole numbers such as '1 2 3'; got {wrong[0]!r}.")
    return [int(part) for part in parts]


def model_options(command: Command) -> Command:
    """Add --model, --device, --dtype and --num-heads; the command gets them as `model`."""

    @click.option("--model", default="embedded", show_default=True, help=MODEL_HELP)
    @click.option("--device", default="cpu", show_default=True, help="cpu, cuda, cuda:1, mps.")
    @click.option("--dtype", default="float32", show_default=True, help="float32, bfloat16, …")
    @click.option("--num-heads", type=int, help="Of a checkpoint that doesn't tell: the book's.")
    @functools.wraps(command)
    def with_model(
        *,
        model: str,
        device: str,
        dtype: str,
        num_heads: int | None,
        **others: Any,  # noqa: ANN401
    ) -> None:
        command(model=ModelChoice(model, device, dtype, num_heads), **others)

    return with_model


def text_options(command: Command) -> Command:
    """Add --text, --text-file, --ids and --bos; the command gets them as `source`."""

    @click.option("--text", help="The text itself.")
    @click.option("--text-file", metavar="FILE", help="A UTF-8 file; - for stdin.")
    @click.option("--ids", metavar="'1 2 3'", help="Token ids, run as they are: no BOS is added.")
    @click.option(
        "--bos/--no-bos",
        default=None,
        help="Whether BOS comes before the text. Without either: as the model expects.",
    )
    @functools.wraps(command)
    def with_text(
        *,
        text: str | None,
        text_file: str | None,
        ids: str | None,
        bos: bool | None,
        **others: Any,  # noqa: ANN401
    ) -> None:
        command(source=TextChoice(text, text_file, ids, bos), **others)

    return with_text


def implementation_option(command: Command) -> Command:
    """Add --implementation."""
    return click.option(
        "--implementation",
        metavar="NAME",
        default="sdpa",
        show_default=True,
        help="How the heads are computed; a name that there is not lists them all.",
    )(command)
