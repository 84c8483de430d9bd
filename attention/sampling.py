"""Which token comes next: the likeliest one, or one drawn from what the model expects."""

import torch
from jaxtyping import Float
from torch import Tensor

from attention.errors import ConfigError, ModelError, is_number


def require_temperature(value: float) -> None:
    """Refuse what logits cannot be divided by.

    Raises:
        ConfigError: when it is not a finite number of at least 0.
    """
    if not is_number(value) or value < 0:
        raise ConfigError(f"temperature must be at least 0 and finite; got {value!r}.")


def require_finite(logits: Tensor, model: str, dtype: torch.dtype) -> None:
    """Refuse logits that no token follows from.

    Raises:
        ModelError: when one is NaN or infinite; names the model and its dtype.
    """
    if not logits.isfinite().all():
        raise ModelError(
            f"logits of {model} must be finite; got NaN or infinity with dtype "
            f"{str(dtype).removeprefix('torch.')}. Try float32, or another copy of it."
        )


def next_token(
    logits: Float[Tensor, " vocab_size"], temperature: float, *, generator: torch.Generator
) -> int:
    """The token that follows.

    Args:
        logits: of one position.
        temperature: 0 takes the likeliest; 1 draws as the model expects, more evens out.
        generator: the source of randomness.
    """
    if not temperature:
        return int(logits.argmax())
    below_best = logits.double() - logits.max()  # or a small temperature would make them infinite
    chances = (below_best / temperature).softmax(dim=-1)
    return int(torch.multinomial(chances, 1, generator=generator))
