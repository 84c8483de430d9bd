"""Whether the text that SmolLM2 writes helps a model to read modern English.

`python -m tests.bench.stories --work runs/train` trains the embedded model's architecture twice
for the same number of steps on plain text, with and without the stories, each with a tokenizer of
its own, and lets both read today's sentences and the texts' held-out ends. The work folder is one
of `python -m attention train`.
"""

import platform
from dataclasses import replace
from pathlib import Path

import click
import torch

from attention.tokens import Tokenizer
from attention.training.corpus import build_corpus
from attention.training.data import split
from attention.training.pipeline import EMBEDDED, TODAYS, read_held_out
from attention.training.rows import RowMix
from attention.training.sources import WRITTEN, choose_sources
from attention.training.stages import LANGUAGE
from attention.training.tokenizer import build_tokens
from attention.training.train import Trainer, TrainSettings


@click.command()
@click.option("--work", type=click.Path(path_type=Path), default=Path("runs/train"))
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs/stories_bench"))
@click.option("--steps", type=int, default=400, show_default=True)
@click.option("--threads", type=int, default=2, show_default=True)
def main(work: Path, out: Path, steps: int, threads: int) -> None:
    """Train with and without the stories, and print what each made of the same texts."""
    torch.set_num_threads(threads)
    readings = {
        name: train(work, out / name, steps, left_out)
        for name, left_out in (("with", ()), ("without", [source.name for source in WRITTEN]))
    }
    click.echo("| text | bits a character | without stories | characters a token | without |")
    click.echo("|---|---|---|---|---|")
    for name, read in readings["with"].items():
        other = readings["without"].get(name)
        bits, length = (
            ("-", "-")
            if other is None
            else (f"{other.bits_per_character:.3f}", f"{other.characters_per_token:.2f}")
        )
        click.echo(
            f"| {name} | {read.bits_per_character:.3f} | {bits} | "
            f"{read.characters_per_token:.2f} | {length} |"
        )
    click.echo(
        f"{steps} steps of 4,096 tokens, seed 0; {TODAYS} are in no text; torch "
        f"{torch.__version__}, {threads} CPU thread(s), {platform.machine()}"
    )


def train(work, out, steps, left_out):
    """Train on plain text only, and read what was held out."""
    out.mkdir(parents=True, exist_ok=True)
    files = build_corpus(work, choose_sources(left_out))
    token_files = build_tokens(files, out)
    weights = {file.source.name: file.source.weight for file in files}
    data = split(token_files, weights, vocab_size=EMBEDDED.vocab_size, length=256)
    plain = replace(LANGUAGE, max_steps=steps, mix=RowMix(random=0.0, copies=0.0))
    settings = TrainSettings(model=EMBEDDED, stages=(plain,), evaluate_every=100, save_every=100)
    tokenizer = Tokenizer.from_file(out / "tokenizer.json")
    trainer = Trainer(settings, data.texts, data.windows, out, click.echo, tokenizer)
    return read_held_out(trainer.run(), data)


if __name__ == "__main__":
    main()
