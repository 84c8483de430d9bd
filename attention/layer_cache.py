"""Keeps the attention layers that were built from a model's weights, as long as these last."""

import threading
from collections.abc import Callable, Iterable

from torch import Tensor

from attention.implementations.base import AttentionModule

Key = tuple[str, int]  # implementation, number of heads
Stamp = tuple[tuple[int, int], ...]


class LayerCache:
    """Layers by implementation; forgotten when the weights that they were built from change.

    Some are copies of the weights (a fused matrix), which a change in place would leave behind:
    the model would then compute with old numbers and say nothing. Leaves out changes that torch
    itself does not see, those through `.data`. Threads may share it.
    """

    def __init__(self) -> None:
        self._kept: dict[Key, tuple[Stamp, list[AttentionModule]]] = {}
        self._lock = threading.Lock()
        self.age = object()  # another one whenever the weights have moved or were replaced

    def __reduce__(self) -> tuple[type["LayerCache"], tuple[()]]:
        """A copy begins empty: a model is copied, pickled and saved without what it built."""
        return LayerCache, ()

    def clear(self) -> None:
        """Forget all layers."""
        self._kept.clear()
        self.age = object()

    def get(
        self, key: Key, weights: Iterable[Tensor], build: Callable[[], list[AttentionModule]]
    ) -> list[AttentionModule]:
        """The layers of that key, built now unless those kept are of the weights as they are.

        Args:
            key: which layers.
            weights: what they are built from.
            build: makes them.

        Returns:
            a list of the caller's own.
        """
        with self._lock:
            stamp = stamps(weights)
            kept = self._kept.get(key)
            if kept is None or kept[0] != stamp:
                kept = self._kept[key] = (stamp, build())
            return list(kept[1])


def stamps(weights: Iterable[Tensor]) -> Stamp:
    """What differs once one of these has changed, as far as torch itself sees it."""
    return tuple(map(_stamp, weights))


def _stamp(tensor: Tensor) -> tuple[int, int]:
    """Where a tensor's numbers are and how often they were changed."""
    changes = 0 if tensor.is_inference() else tensor._version
    return tensor.data_ptr(), changes
