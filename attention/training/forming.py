"""From the texts to a folder of checkpoints in which heads form: `python -m attention forming`."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from attention.config import AttentionConfig
from attention.errors import require_positive, require_seed
from attention.formation import HISTORY, checkpoint_file
from attention.history import history_as_text, read_history
from attention.model_config import ModelConfig
from attention.tokens import Tokenizer
from attention.training.corpus import CorpusFile, build_corpus
from attention.training.data import split
from attention.training.folders import require_folder
from attention.training.forming_card import FormingFacts, write_forming_card
from attention.training.forming_choice import choose_looks
from attention.training.forming_looks import WatchedTrainer
from attention.training.rows import RowMix
from attention.training.sources import SOURCES
from attention.training.stages import Gate, Stage
from attention.training.tokenizer import BOS_ID, build_tokens
from attention.training.train import TrainSettings

WEIGHTS = {  # of the texts; the shipped checkpoints were trained with these
    "austen": 1.0,
    "moby_dick": 0.7,
    "state_of_the_union": 1.0,
    "wordnet": 1.5,
    "king_james": 0.4,
}
CHECKPOINTS = 25
FORMING = ModelConfig(
    vocab_size=1024,
    num_layers=2,
    d_mlp=None,
    attention=AttentionConfig(
        d_in=128,
        num_heads=4,
        head_dim=32,
        context_length=256,
        num_kv_heads=4,
        d_model=128,
        qkv_bias=True,
        out_bias=True,
    ),
    bos_token_id=BOS_ID,
)
STAGES = (
    Stage(
        name="short rows",
        length=64,
        mix=RowMix(random=0.50, copies=0.15),
        learning_rate=2e-3,
        max_steps=2_500,
        until=Gate("induction", 0.45),
    ),
    Stage(
        name="long rows",
        length=256,
        mix=RowMix(random=0.25, copies=0.15),
        learning_rate=2e-3,
        hold=0.40,
        final=0.05,
        max_steps=1_500,
    ),
)
SETTINGS = TrainSettings(
    model=FORMING, stages=STAGES, tokens_per_step=2_048, evaluate_every=10, save_every=50
)


@dataclass(frozen=True, kw_only=True)
class FormingJob:
    """What a person asks of ``python -m attention forming``.

    Args:
        work: folder of archives, texts, tokens, looks and the checkpoint to go on from.
        out: folder that gets the chosen checkpoints.
        seed: of weights and rows.
        threads: of torch on the CPU.
    """

    work: Path
    out: Path
    seed: int = 0
    threads: int = 1

    def __post_init__(self) -> None:
        require_positive("threads", self.threads)
        require_seed(self.seed)
        for name in ("work", "out"):
            require_folder(name, getattr(self, name))


def train_forming(
    job: FormingJob, report: Callable[[str], None], settings: TrainSettings = SETTINGS
) -> Path:
    """Train a small attention-only model, and keep it at many moments.

    A run that was stopped goes on where it was, and ends as if it had not been.

    Args:
        job: what to do.
        report: gets progress lines.
        settings: the recipe; the job's seed takes the place of its own.

    Returns:
        The folder of the checkpoints.

    Raises:
        HeadscopeError: a text cannot be fetched or read, the checkpoint is another run's,
            or the heads did not form.
    """
    torch.set_num_threads(job.threads)
    report("texts: fetching what is not there yet")
    sources = tuple(
        replace(source, weight=WEIGHTS[source.name]) for source in SOURCES if source.name in WEIGHTS
    )
    files = build_corpus(job.work, sources)
    report("tokens: training the tokenizer and encoding")
    sizes = settings.model
    token_files = build_tokens(files, job.work, vocab_size=sizes.vocab_size)
    weights = {file.source.name: file.source.weight for file in files}
    data = split(token_files, weights, vocab_size=sizes.vocab_size, length=sizes.context_length)
    trainer = WatchedTrainer(
        replace(settings, seed=job.seed),
        data.texts,
        data.windows,
        job.work,
        report,
        Tokenizer.from_file(job.work / "tokenizer.json"),
    )
    trainer.run()
    export_formation(trainer, files, job)
    report(f"{CHECKPOINTS} checkpoints chosen of {len(trainer.looks)}")
    return job.out


def export_formation(trainer: WatchedTrainer, files: list[CorpusFile], job: FormingJob) -> None:
    """Choose checkpoints, and write their folder: weights, history, sizes, tokenizer, card.

    Args:
        trainer: a run that is done.
        files: the texts.
        job: where to, and what the card says of the run.
    """
    history, _ = read_history(trainer.looks_path)  # rounded, however often the run was stopped
    chosen = choose_looks(history, CHECKPOINTS)
    for old in job.out.glob("tokens-*.safetensors"):
        old.unlink()
    for at in chosen:
        name = checkpoint_file(history.looks[at].tokens)
        shutil.copyfile(trainer.candidates / name, job.out / name)
    for name in ("config.json", "tokenizer.json"):
        shutil.copyfile(trainer.candidates / name, job.out / name)
    (job.out / HISTORY).write_text(history_as_text(history, chosen), encoding="utf-8")
    facts = FormingFacts(
        history=history,
        chosen=chosen,
        files=files,
        settings=trainer.settings,
        parameters=sum(p.numel() for p in trainer.model.parameters()),
        seconds=trainer.progress.seconds,
        environment=f"torch {torch.__version__}, {job.threads} CPU thread(s)",
    )
    (job.out / "README.md").write_text(write_forming_card(facts), encoding="utf-8")
