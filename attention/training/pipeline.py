"""From nothing to a model folder: texts, tokenizer, training, export."""

import platform
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from attention.config import AttentionConfig
from attention.errors import HeadscopeError, is_number, require_seed
from attention.loading import load_model
from attention.model import LanguageModel
from attention.model_config import ModelConfig
from attention.tokens import Tokenizer
from attention.training.card import CardFacts
from attention.training.corpus import CorpusFile, build_corpus
from attention.training.data import TrainingData, split
from attention.training.evaluate import evaluate, text_scores
from attention.training.export import export_model
from attention.training.folders import require_folder
from attention.training.measure import Reading, read_text, read_windows
from attention.training.samples import write_samples
from attention.training.sources import WRITTEN, choose_sources
from attention.training.stages import STAGES, Stage, shortened
from attention.training.today import TODAY
from attention.training.tokenizer import BOS_ID, VOCAB_SIZE, build_tokens
from attention.training.train import Trainer, TrainSettings
from attention.training.writer.stories import PLANS, write_modern_text

TODAYS = "today's sentences"
EMBEDDED = ModelConfig(
    vocab_size=VOCAB_SIZE,
    num_layers=4,
    d_mlp=704,
    attention=AttentionConfig(
        d_in=256,
        num_heads=8,
        head_dim=32,
        context_length=256,
        num_kv_heads=8,
        d_model=256,
        qkv_bias=True,
        out_bias=True,
    ),
    bos_token_id=BOS_ID,
)


@dataclass(frozen=True, kw_only=True)
class Job:
    """What a person asks of ``python -m attention train``.

    Args:
        work: folder of archives, texts, tokens and the checkpoint.
        out: folder that gets the model.
        seed: of weights and rows.
        threads: of torch on the CPU.
        minutes: time for the training, or None.
        stage2_steps: steps of the last stage, or None for the recipe's.
        stories: whether a larger model writes modern text first.
        compare: a model folder that is to read the same held-out texts, for the card.
    """

    work: Path
    out: Path
    seed: int = 0
    threads: int = 2
    minutes: float | None = None
    stage2_steps: int | None = None
    stories: bool = True
    compare: Path | None = None

    def __post_init__(self) -> None:
        for name in ("threads", "stage2_steps"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise HeadscopeError(f"{name} must be at least 1; got {value}")
        require_seed(self.seed)
        if self.minutes is not None and (not is_number(self.minutes) or self.minutes <= 0):
            raise HeadscopeError(f"minutes must be above 0; got {self.minutes!r}.")
        for name in ("work", "out"):
            require_folder(name, getattr(self, name))

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The recipe, with the last stage as long as asked."""
        return STAGES if self.stage2_steps is None else shortened(STAGES, self.stage2_steps)


def train_embedded(job: Job, report: Callable[[str], None]) -> Path:
    """Make the embedded model; a run that was stopped goes on where it was.

    The model is written after every stage, so that there is one to look at early.

    Args:
        job: what to do.
        report: gets progress lines.

    Returns:
        The model's folder.

    Raises:
        HeadscopeError: a text cannot be fetched or read, the checkpoint is another run's,
            or the heads did not form.
    """
    torch.set_num_threads(job.threads)
    report("texts: fetching what is not there yet")
    sources = choose_sources(() if job.stories else [source.name for source in WRITTEN])
    if job.stories:
        write_modern_text(job.work / "archives", PLANS, report)
    files = build_corpus(job.work, sources)
    for file in files:
        if not file.same_archive:
            report(f"note: {file.source.package.name} is not the version of the shipped model")
    report("tokens: training the tokenizer and encoding")
    token_files = build_tokens(files, job.work)
    weights = {file.source.name: file.source.weight for file in files}
    data = split(
        token_files,
        weights,
        vocab_size=EMBEDDED.vocab_size,
        length=EMBEDDED.context_length,
    )
    settings = TrainSettings(model=EMBEDDED, stages=job.stages, seed=job.seed, minutes=job.minutes)
    trainer = Trainer(
        settings,
        data.texts,
        data.windows,
        job.work,
        report,
        Tokenizer.from_file(job.work / "tokenizer.json"),
    )

    def export() -> None:
        export_model(trainer.model, gather_facts(trainer, data, files, job), job.out)
        report(f"model written to {job.out}")

    if trainer.done:  # killed between its last step and the export, or asked for again
        export()
    trainer.run(after_stage=export)
    return job.out


def gather_facts(
    trainer: Trainer, data: TrainingData, files: list[CorpusFile], job: Job
) -> CardFacts:
    """Measure the model as it is now, for its card."""
    model = trainer.model
    model.eval()
    seen = evaluate(model, data.windows)
    return CardFacts(
        files=files,
        stages=job.stages,
        seed=job.seed,
        tokens_per_step=trainer.settings.tokens_per_step,
        parameters=sum(p.numel() for p in model.parameters()),
        log=trainer.progress.log,
        scores=seen.scores,
        on_text=text_scores(model, TODAY),
        copy_accuracy=seen.copy_accuracy,
        held_out=read_held_out(model, data),
        compared=None
        if job.compare is None
        else read_again(load_model(str(job.compare)), model, data),
        samples=write_samples(model),
        finished=trainer.done,
        environment=(
            f"Last run with torch {torch.__version__}, {job.threads} CPU thread(s), "
            f"{platform.machine()}, Python {platform.python_version()}."
        ),
    )


def read_held_out(model: LanguageModel, data: TrainingData) -> dict[str, Reading]:
    """Read each text's held-out end, and today's sentences."""
    found = {name: read_windows(model, windows) for name, windows in data.held_out.items()}
    return found | {TODAYS: read_sentences(model)}


def read_again(
    other: LanguageModel, model: LanguageModel, data: TrainingData
) -> dict[str, Reading]:
    """Let another model, with its own tokenizer, read what `read_held_out` reads."""
    assert model.tokenizer is not None  # the trainer was given it
    found = {
        name: read_text(other, "".join(map(model.tokenizer.decode, windows[:, 1:].tolist())))
        for name, windows in data.held_out.items()
    }
    return found | {TODAYS: read_sentences(other)}


def read_sentences(model: LanguageModel) -> Reading:
    """Read today's sentences, each by itself."""
    first, *others = (read_text(model, sentence) for sentence in TODAY)
    return sum(others, first)
