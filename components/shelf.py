"""The models in memory: one copy of each, kept as long as somebody looks at it."""

import gc
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from components.opening import Asked, Opening, Progress

if TYPE_CHECKING:
    from attention.model import LanguageModel
    from attention.progress import Progress as Share
    from attention.record import RunRecord
    from attention.tokens import Tokens

GRACE_S = 60.0  # a model whose last tab was closed stays so long: a reload is no reason to open it
MOST_TEXTS, MOST_RUNS = 64, 16
MOST_BYTES = 1 << 29  # of runs of one model; the newest is kept whatever it takes
POLL_S = 0.05  # how often somebody who waits for what another tab makes may give up
Made = TypeVar("Made")


class Kept(Generic[Made]):
    """Values by key; the oldest go where they are too many or too large.

    What two want at once is made once.

    Args:
        most: values.
        size: bytes of a value.
    """

    def __init__(self, most: int, size: Callable[[Made], int] = lambda _: 0) -> None:
        self._most = most
        self._size = size
        self._values: OrderedDict[object, tuple[Made, int]] = OrderedDict()
        self._making: dict[object, threading.Event] = {}
        self._lock = threading.Lock()

    def get(
        self, key: object, make: Callable[[], Made], waiting: Callable[[], None] = lambda: None
    ) -> Made:
        """The value of a key, made now unless it is kept.

        Args:
            key: which value.
            make: makes it. What it raises is raised, and nothing is kept.
            waiting: called now and then while somebody else makes it; what it raises ends the
                wait. Where the other one fails or gives up, it is made here after all.
        """
        while True:
            with self._lock:
                if key in self._values:
                    self._values.move_to_end(key)
                    return self._values[key][0]
                other = self._making.get(key)
                if other is None:
                    mine = self._making[key] = threading.Event()
                    break
            while not other.wait(POLL_S):
                waiting()
        try:
            return self._keep(key, make())
        finally:
            with self._lock:
                del self._making[key]
            mine.set()

    def values(self) -> list[Made]:
        """All that are kept, the one used last at the end."""
        with self._lock:
            return [made for made, _ in self._values.values()]

    def _keep(self, key: object, made: Made) -> Made:
        with self._lock:
            self._values[key] = (made, self._size(made))
            while len(self._values) > 1 and self._too_much():
                self._values.popitem(last=False)
        return made

    def _too_much(self) -> bool:
        total = sum(size for _, size in self._values.values())
        return len(self._values) > self._most or total > MOST_BYTES


class Held:
    """A model in memory, with what was made with it; all go together.

    Args:
        asked: which model.
        model: the model.
    """

    def __init__(self, asked: Asked, model: "LanguageModel") -> None:
        self.asked = asked
        self.model = model
        self.texts: Kept[Tokens] = Kept(MOST_TEXTS)
        self.runs: Kept[tuple[RunRecord, float]] = Kept(MOST_RUNS, _bytes_of)
        self.readers: set[object] = set()
        self._pace: dict[str, float] = {}  # seconds a token of the last whole run

    def tokens(self, key: object, make: "Callable[[], Tokens]") -> "Tokens":
        """A text as the model reads it, made once."""
        return self.texts.get(key, make)

    def run(
        self, tokens: "Tokens", implementation: str, progress: "Share | None" = None
    ) -> "tuple[RunRecord, float]":
        """A run, made once, and the seconds that it takes where nothing of it is known yet.

        What the text begins with as one that was run before is not run again.

        Args:
            tokens: the text.
            implementation: how the heads are computed.
            progress: see `LanguageModel.run`; also called while another tab makes the same run.
        """
        return self.runs.get(
            (tokens, implementation),
            lambda: self._run(tokens, implementation, progress),
            waiting=lambda: None if progress is None else progress(0.0),
        )

    def _run(
        self, tokens: "Tokens", implementation: str, progress: "Share | None"
    ) -> "tuple[RunRecord, float]":
        earlier = [record for record, _ in self.runs.values()]
        begun = time.perf_counter()
        record = self.model.run(
            tokens, implementation=implementation, reuse=earlier, progress=progress
        )
        took = time.perf_counter() - begun
        if not record.reused:
            self._pace[implementation] = took / record.seq_len
        return record, max(took, self._pace.get(implementation, 0.0) * record.seq_len)


def _bytes_of(run: "tuple[RunRecord, float]") -> int:
    return run[0].nbytes


class Shelf:
    """Models in memory and those being opened; shared by all tabs.

    Args:
        load: opens a model, given a callback for its progress.
        grace: seconds that a model stays after the last tab with it was closed.
    """

    def __init__(
        self, load: "Callable[[Asked, Progress], LanguageModel]", grace: float = GRACE_S
    ) -> None:
        self._load = load
        self._grace = grace
        self._lock = threading.RLock()
        self._held: dict[Asked, Held] = {}
        self._openings: dict[Asked, Opening] = {}
        self._unloaded: set[Asked] = set()

    def find(self, asked: Asked) -> Held | None:
        """The model, if it is in memory."""
        return self._held.get(asked)

    def open(self, asked: Asked, reader: object) -> Opening:
        """Have a model opened for a reader, who wants no other that is still being opened."""
        with self._lock:
            self.stop(reader, besides=asked)
            opening = self._openings.get(asked)
            if opening is None or opening.stopped:
                opening = self._openings[asked] = Opening(asked, self._load)
            opening.waiting.add(reader)
            return opening

    def opening_of(self, reader: object) -> Opening | None:
        """What is being opened for a reader."""
        with self._lock:
            mine = [one for one in self._openings.values() if reader in one.waiting]
        return mine[0] if mine else None

    def was_unloaded(self, asked: Asked) -> bool:
        """Whether somebody has dropped a model and nobody has opened it since."""
        return asked in self._unloaded

    def stop(self, reader: object, *, besides: Asked | None = None) -> None:
        """A reader wants nothing opened any more; what nobody else wants is not opened."""
        with self._lock:
            for asked, opening in list(self._openings.items()):
                if asked == besides:
                    continue
                opening.waiting.discard(reader)
                if not opening.waiting:
                    opening.stop()
                    del self._openings[asked]

    def take(self, opening: Opening, reader: object) -> None:
        """What has been opened is what the reader looks at now, and nothing else."""
        asked = opening.asked
        assert opening.model is not None
        with self._lock:
            self._held.setdefault(asked, Held(asked, opening.model))
            self._unloaded.discard(asked)
            self.finish(opening, reader)
            self.look_at(asked, reader)

    def finish(self, opening: Opening, reader: object) -> None:
        """A reader has seen how an opening ended."""
        with self._lock:
            opening.waiting.discard(reader)
            if not opening.waiting and self._openings.get(opening.asked) is opening:
                del self._openings[opening.asked]

    def look_at(self, asked: Asked, reader: object) -> None:
        """A reader looks at this model and at no other; those that nobody looks at are dropped."""
        with self._lock:
            self._held[asked].readers.add(reader)
            for other in self._held.keys() - {asked}:
                self._held[other].readers.discard(reader)
                self._drop_unused(other)

    def others(self, asked: Asked, reader: object) -> int:
        """How many other readers look at a model."""
        held = self._held.get(asked)
        return 0 if held is None else len(held.readers - {reader})

    def leave(self, reader: object) -> None:
        """A reader has closed the tab; the model stays for a while, in case it is opened again."""
        self.stop(reader)
        with self._lock:
            for asked in [asked for asked, held in self._held.items() if reader in held.readers]:
                self._held[asked].readers.discard(reader)
                timer = threading.Timer(self._grace, self._drop_unused, (asked,))
                timer.daemon = True
                timer.start()

    def unload(self, asked: Asked) -> None:
        """Drop a model with all that was made with it, whoever looks at it."""
        with self._lock:
            self._unloaded.add(asked)
            self._drop(asked)

    def _drop_unused(self, asked: Asked) -> None:
        with self._lock:
            if asked in self._held and not self._held[asked].readers:
                self._drop(asked)

    def _drop(self, asked: Asked) -> None:
        self._openings.pop(asked, None)
        if self._held.pop(asked, None) is not None:  # was the last reference, unless it is running
            give_back()


def give_back() -> None:
    """Give memory that nothing uses any more back to the device and to the system."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is None:
        return
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    if sys.platform == "linux":
        import ctypes

        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc only
        if trim is not None:
            trim(0)
