"""A model without weights, which takes no memory: what they are put into."""

import torch

from attention.model import LanguageModel
from attention.model_config import ModelConfig
from attention.tokens import Tokenizer


def blank_model(
    config: ModelConfig, tokenizer: Tokenizer | None = None, *, name: str = "model"
) -> LanguageModel:
    """A model whose parameters have shapes and nothing else; everything else of it is there.

    Args:
        config: its sizes.
        tokenizer: how it reads text.
        name: what a person sees.
    """
    with torch.device("meta"):
        return LanguageModel(config, tokenizer, name=name)  # angles are made on the CPU
