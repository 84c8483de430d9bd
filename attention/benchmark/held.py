"""The most memory that tensors hold at once, on whatever threads they are made."""

import threading
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class HeldMemory(TorchDispatchMode):
    """Counts the memory of tensors that operators make within a block, until it is freed.

    Works in every thread that takes the mode over, as those of `threads` do, where the profiler
    sees the allocations of one. Leaves out what a kernel takes and gives back within itself. Not
    for inference mode, in which operators hide those that they call.

    Attributes:
        peak: the most bytes that were held at once.
        threads: in which operators were seen.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.peak = 0
        self.threads: set[int] = set()
        self._held: dict[int, int] = {}  # bytes, by what tells storages apart
        self._lock = threading.RLock()  # memory may be freed while some is counted

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: Any,  # noqa: ANN401 - as torch calls it
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401
        """Run an operator, and count what it made: what it was given is there already."""
        kwargs = kwargs or {}
        self.threads.add(threading.get_ident())
        given = {storage._cdata for storage in _storages((args, kwargs))}
        out = func(*args, **kwargs)
        for storage in _storages(out):
            if storage._cdata not in given:
                self._count(storage)
        return out

    def _count(self, storage: torch.UntypedStorage) -> None:
        key = storage._cdata
        with self._lock:
            if key in self._held:
                return
            self._held[key] = storage.nbytes()
            self.peak = max(self.peak, sum(self._held.values()))
            weakref.finalize(storage, self._freed, key)

    def _freed(self, key: int) -> None:
        with self._lock:
            self._held.pop(key, None)


def _storages(values: Any) -> list[torch.UntypedStorage]:  # noqa: ANN401 - any of torch's values
    return [
        leaf.untyped_storage() for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)
    ]
