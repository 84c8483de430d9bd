"""What to see at one moment of a training, worked out from what was measured there."""

import math
from typing import TYPE_CHECKING

from components import looks
from components.film import Film
from components.sentences import of_head, percent

if TYPE_CHECKING:
    from attention.history import Bump, Look

FORMED = 0.1  # a best score below says that no head does it yet
ROOT = "the token after the earlier copy"


def millions(tokens: int) -> str:
    """A number of tokens with at most three figures: 0, 41k, 1.74M."""
    if tokens < 1_000_000:
        return f"{round(tokens / 1000)}k" if tokens else "0"
    return f"{tokens / 1e6:.2f}M"


def phase(look: "Look", bump: "Bump") -> str:
    """Where in the training a look is."""
    if look.step == 0:
        return "before the first step"
    if look.tokens < bump.start:
        return "before the bump"
    return "in the bump" if look.tokens <= bump.end else "after the bump"


def of_moment(look: "Look", bump: "Bump") -> str:
    """One sentence on all heads at a checkpoint.

    Args:
        look: what was measured there, on random tokens that come twice.
        bump: where the heads form.
    """
    previous, one, other = look.best("previous_token")
    before = f"head {one}.{other} gives the token before {percent(previous)} of its weight"
    score, layer, head = look.best("induction")
    found = f"head {layer}.{head} gives {ROOT} {percent(score)}"
    if previous < FORMED:
        before = "no head looks one token back yet"
    if score < FORMED:
        found = f"none finds repeats (at best {percent(score)} on {ROOT})"
    again, new = (
        percent(math.exp(-loss)) for loss in (look.second_copy_loss, look.first_copy_loss)
    )
    return (
        f"{millions(look.tokens)} tokens, {phase(look, bump)}: on random tokens that come twice, "
        f"{before}, {found}; a token that comes again is given a chance of {again}, a new one "
        f"{new}."
    )


def of_heads(film: Film, checkpoint: int) -> list[str]:
    """A sentence for each head on the reader's text, the layers one after the other."""
    _, layers, heads = film.shape
    shown = film.shown(checkpoint, looks.Look())
    habits = film.habits[checkpoint]
    return [
        of_head(layer, head, habits[layer][head], shown[layer, head])
        for layer in range(layers)
        for head in range(heads)
    ]
