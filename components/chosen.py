"""Which layer, head and query are looked at, as far as the run has them."""

from dataclasses import dataclass

from components import messages, state
from components.looks import Patterns


@dataclass(frozen=True)
class Chosen:
    """What is looked at.

    Attributes:
        layer: from 0.
        head: from 0.
        query: a token's place, from 0.
    """

    layer: int
    head: int
    query: int


def exists(record: Patterns) -> bool:
    """Whether the run has the layer and the head asked for."""
    return state.whole("layer") < record.num_layers and state.whole("head") < record.num_heads


def settle(record: Patterns) -> None:
    """Put a layer or head that the model lacks right, and say so."""
    for key, count in (("layer", record.num_layers), ("head", record.num_heads)):
        asked = state.whole(key)
        if asked < count:
            continue
        if asked != state.ENTRIES[key].default:  # nobody asked for the default
            messages.note(
                f"{key} must be 0 to {count - 1} for this model; got {asked}. "
                f"{key.capitalize()} {count - 1} is shown."
            )
        state.put(key, count - 1)


def chosen(record: Patterns) -> Chosen:
    """What is looked at in this run.

    The query is kept as it was chosen when a text is too short for it: the last token stands
    in until the text is long enough again.
    """
    last = record.seq_len - 1
    query = state.whole("query")
    return Chosen(
        min(state.whole("layer"), record.num_layers - 1),
        min(state.whole("head"), record.num_heads - 1),
        last if query < 0 else min(query, last),
    )
