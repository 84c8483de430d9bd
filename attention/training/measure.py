"""How well a model reads a text, so that models with other tokenizers can be compared."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Int64
from torch import Tensor

from attention.errors import HeadscopeError
from attention.model import LanguageModel
from attention.training.evaluate import held_out_loss


@dataclass(frozen=True)
class Reading:
    """What reading a text cost a model.

    Args:
        nats: in all.
        tokens: that were predicted.
        characters: of the text.
    """

    nats: float
    tokens: int
    characters: int

    @property
    def nats_per_token(self) -> float:
        """Mean loss of a token; depends on the tokenizer."""
        return self.nats / self.tokens

    @property
    def bits_per_character(self) -> float:
        """Mean loss of a character; does not."""
        return self.nats / self.characters / math.log(2)

    @property
    def characters_per_token(self) -> float:
        """How long the tokens are."""
        return self.characters / self.tokens

    def __add__(self, other: "Reading") -> "Reading":
        """Both texts together."""
        return Reading(
            self.nats + other.nats,
            self.tokens + other.tokens,
            self.characters + other.characters,
        )


def read_windows(model: LanguageModel, windows: Int64[Tensor, "rows pos"]) -> Reading:
    """Read windows that start with ``<bos>``."""
    assert model.tokenizer is not None  # the trainer was given it
    text = "".join(model.tokenizer.decode(row) for row in windows[:, 1:].tolist())
    tokens = windows[:, 1:].numel()
    return Reading(held_out_loss(model, windows) * tokens, tokens, len(text))


def read_text(model: LanguageModel, text: str) -> Reading:
    """Read a text with a model's own tokenizer, in pieces as long as its context.

    Raises:
        HeadscopeError: the model has no tokenizer, or no token that goes first.
    """
    bos = model.config.bos_token_id
    if model.tokenizer is None or bos is None:
        raise HeadscopeError(f"{model.name} must have a tokenizer and a first token to be compared")
    ids = [i for i in model.tokenizer.encode(text).ids if i != bos]
    room = model.config.context_length - 1
    nats = 0.0
    for start in range(0, len(ids), room):
        piece = ids[start : start + room]
        nats += held_out_loss(model, torch.tensor([[bos, *piece]])) * len(piece)
    return Reading(nats, len(ids), len(text))
