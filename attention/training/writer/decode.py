"""Write many texts at once with a kv cache: keys and values are computed once a token."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention.decoding import with_caches
from attention.errors import HeadscopeError
from attention.model import LanguageModel


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How the next token is drawn.

    Args:
        temperature: above 0; 1 draws as the model expects, more evens out.
        top_k: only from so many of the likeliest tokens.
    """

    temperature: float
    top_k: int

    def __post_init__(self) -> None:
        if not 0 < self.temperature < math.inf:
            raise HeadscopeError(f"temperature must be above 0; got {self.temperature}")
        if self.top_k < 1:
            raise HeadscopeError(f"top_k must be at least 1; got {self.top_k}")

    def draw(
        self, logits: Float[Tensor, "batch vocab_size"], generator: torch.Generator
    ) -> Int[Tensor, " batch"]:
        """Draw each row's next token."""
        best, ids = logits.float().topk(min(self.top_k, logits.shape[-1]), dim=-1)
        drawn = torch.multinomial((best / self.temperature).softmax(-1), 1, generator=generator)
        return ids.gather(1, drawn)[:, 0]


@torch.inference_mode()
def decode(
    model: LanguageModel,
    prompts: Int[Tensor, "batch pos"],
    num_tokens: int,
    *,
    end: int,
    sampling: Sampling,
    seed: int,
) -> list[list[int]]:
    """Go on writing each prompt until its end token or ``num_tokens``.

    Leaves out padding: the prompts are equally long.

    Args:
        model: writes; its attention may share kv heads.
        prompts: token ids, a text a row.
        num_tokens: how many to add at most.
        end: the token after which a text is over.
        sampling: how tokens are drawn.
        seed: of the draws.

    Returns:
        What was added to each prompt, without the end token.

    Raises:
        HeadscopeError: prompts and added tokens do not fit into the model's context.
    """
    batch, start = prompts.shape
    if start + num_tokens > model.config.context_length:
        raise HeadscopeError(
            f"num_tokens must be at most {model.config.context_length - start} after prompts of "
            f"{start}; got {num_tokens}"
        )
    attention = with_caches(model.attention_layers("sdpa"), batch=batch, room=start + num_tokens)
    generator = torch.Generator().manual_seed(seed)
    written = torch.full((batch, num_tokens), end, dtype=torch.int64)
    over = torch.zeros(batch, dtype=torch.bool)
    ids = prompts
    for step in range(num_tokens):
        token = sampling.draw(model.next_logits(ids, attention), generator)
        over |= token == end
        written[:, step] = token.masked_fill(over, end)
        if over.all():
            break
        ids = token[:, None]
    return [row[: row.index(end)] if end in row else row for row in written.tolist()]
