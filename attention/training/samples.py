"""A few continuations for the model card."""

import torch

from attention.model import LanguageModel
from attention.training.tokenizer import BOS_ID

PROMPTS = ("She was very", "America must", "The old man went to the", "happy:")
TEMPERATURE = 0.7
LIKELIEST = 30
NEW_TOKENS = 50


def write_samples(model: LanguageModel) -> list[tuple[str, str]]:
    """Return each prompt with what the model writes after it, by one fixed seed."""
    tokenizer = model.tokenizer
    assert tokenizer is not None  # a model without one is not given samples
    generator = torch.Generator().manual_seed(0)
    samples = []
    for prompt in PROMPTS:
        ids = [int(token) for token in tokenizer.encode(prompt).ids]
        text = tokenizer.decode(continue_ids(model, ids, generator))
        samples.append((prompt, text))
    return samples


def continue_ids(model: LanguageModel, ids: list[int], generator: torch.Generator) -> list[int]:
    """Sample token after token; return the new ones, of which ``<bos>`` is none."""
    new: list[int] = []
    limit = model.config.context_length
    with torch.inference_mode():
        for _ in range(NEW_TOKENS):
            logits = model(torch.tensor([[*ids, *new][-limit:]]))[0, -1].float() / TEMPERATURE
            logits[BOS_ID] = -torch.inf
            values, tokens = logits.topk(min(LIKELIEST, len(logits)))
            choice = torch.multinomial(values.softmax(-1), 1, generator=generator)
            new.append(int(tokens[choice]))
    return new
