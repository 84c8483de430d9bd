"""A few continuations for the model card."""

import torch

from attention.model import LanguageModel
from attention.training.tokenizer import BOS_ID
from attention.training.writer.decode import Sampling, decode

PROMPTS = (
    "She was very",
    "America must",
    "The old man went to the",
    "happy:",
    "Emma took out her phone and",
    '"Where have you been?" asked',
)
SAMPLING = Sampling(temperature=0.7, top_k=30)
NEW_TOKENS = 60


def write_samples(model: LanguageModel) -> list[tuple[str, str]]:
    """Return each prompt with what the model writes after it, by one fixed seed."""
    tokenizer = model.tokenizer
    assert tokenizer is not None  # a model without one is not given samples
    samples, room = [], model.config.context_length
    for prompt in PROMPTS:
        ids = torch.tensor([tokenizer.encode(prompt).ids[: room - 1]])
        count = min(NEW_TOKENS, room - ids.shape[1])
        (new,) = decode(model, ids, count, end=BOS_ID, sampling=SAMPLING, seed=0)
        samples.append((prompt, tokenizer.decode(new)))
    return samples
