"""What a run was made with, by which it is known whether a later one may take part of it over."""

from dataclasses import dataclass

from attention.ablation import Head
from attention.layer_cache import Stamp


@dataclass(frozen=True)
class Origin:
    """All that a run was made with but its text: where it is equal, so is what texts share.

    Attributes:
        age: of the model: another one once it was moved, loaded or copied.
        weights: what differs once one of the weights has changed in place.
        implementation: how the heads were computed; a key of IMPLEMENTATIONS.
        ablate: the (layer, head) pairs that were knocked out.
        autocast: whether torch chose the dtypes.
        model: its name, for errors.
    """

    age: object
    weights: Stamp
    implementation: str
    ablate: frozenset[Head]
    autocast: bool
    model: str
