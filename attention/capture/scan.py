"""What is read off patterns that are never kept, by the C core: maxima, sums, entropies."""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

NOTHING = -1.0  # less than any weight: a square that shows none


@dataclass(frozen=True)
class Wanted:
    """What is read off a layer's patterns beside the entropies.

    Attributes:
        starts: for each template where the keys of each row's cells begin in `keys`, and their end.
        keys: of the cells of all templates.
        step: the side of the squares whose largest weight is wanted; 0 for none.
        hide_first: whether the squares are of the rows without their first weight, the rest scaled
            to sum to 1.
    """

    starts: NDArray[np.int64]  # template row+1
    keys: NDArray[np.int32]
    step: int = 0
    hide_first: bool = False


class ScanJob(ctypes.Structure):
    """`struct scan` of core.c."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in "qk"),
        *((f"{name}_strides", ctypes.c_int64 * 2) for name in "qk"),
        *((name, ctypes.c_int64) for name in ("heads", "kv_heads", "head_dim", "keys")),
        *((name, ctypes.c_int64) for name in ("first", "last", "band", "block")),
        *((name, ctypes.c_int64) for name in ("step", "side", "hide_first", "templates")),
        *((name, ctypes.c_void_p) for name in ("starts", "places")),
        *((name, ctypes.c_void_p) for name in ("squares", "totals", "sums", "spreads")),
        ("threads", ctypes.c_int64),
        ("sgemm", ctypes.c_void_p),
        ("scale", ctypes.c_float),
    )


class Scanner:
    """What was found in the rows that were read so far, each once.

    Args:
        run: the core's function.
        job: q, k, how they are multiplied, and the rows of a block.
        wanted: what to find.
        held: what `job` points into.

    Attributes:
        squares: (head, side, side), the largest weights; negative where nothing is shown.
        totals: (head, template), the weight on a template's cells.
        sums: (head, row), of the exponentials of the scores over the largest.
        spreads: (head, row), of these times the scores over the largest.
    """

    def __init__(
        self, run: Callable[[ScanJob], int], job: ScanJob, wanted: Wanted, held: tuple[Tensor, ...]
    ) -> None:
        self._run, self._job, self._wanted, self._held = run, job, wanted, held
        heads, seq_len, templates = job.heads, job.keys, len(wanted.starts)
        side = -(-seq_len // wanted.step) if wanted.step else 0
        self.squares = np.full((heads, side, side), NOTHING, dtype=np.float32)
        self.totals = np.zeros((heads, templates))
        self.sums, self.spreads = np.ones((2, heads, seq_len), dtype=np.float32)
        job.step, job.side, job.templates = wanted.step, side, templates
        job.hide_first = wanted.hide_first
        step = wanted.step or job.block
        job.band = max(1, job.block // step) * step
        job.starts, job.places = wanted.starts.ctypes.data, wanted.keys.ctypes.data
        job.squares = self.squares.ctypes.data
        job.sums, job.spreads = self.sums.ctypes.data, self.spreads.ctypes.data

    def read(self, rows: range) -> None:
        """Read some rows.

        Raises:
            MemoryError: when there was none for the scratch; all that was found is then worthless.
        """
        job = self._job
        bands = -(-rows.stop // job.band) - rows.start // job.band
        totals = np.empty((job.heads, bands, job.templates))
        job.first, job.last, job.totals = rows.start, rows.stop, totals.ctypes.data
        if self._run(job):
            raise MemoryError("there is no memory for a block of scores")
        self.totals += totals.sum(axis=1)

    def entropies(self) -> NDArray[np.float64]:
        """(head, row), of each row that was read, in nats."""
        sums = self.sums.astype(np.float64)
        entropies: NDArray[np.float64] = np.log(sums) - self.spreads / sums
        return entropies


# ---------------------------------------------------------------- the check

SHAPES = ((3, 3, 67, 5, 7), (4, 2, 150, 64, 1), (2, 1, 129, 16, 80), (1, 1, 1, 1, 1))
TOLERANCE = 1e-5


def scan_difference(scanner: Callable[..., Scanner]) -> str | None:
    """What a core reads otherwise than the formula in float64 says; None where all is equal.

    Args:
        scanner: `NativeCore.scanner`.
    """
    for heads, kv_heads, seq_len, head_dim, step in SHAPES:
        generator = torch.Generator().manual_seed(seq_len)
        q, k = (
            2 * torch.randn(count, seq_len, head_dim, generator=generator)
            for count in (heads, kv_heads)
        )
        scores = q.double() @ k.double().repeat_interleave(heads // kv_heads, 0).transpose(1, 2)
        later = torch.ones(seq_len, seq_len).triu(1).bool()
        pattern = (scores / head_dim).masked_fill(later, -torch.inf).softmax(-1).numpy()
        for hide_first in (False, True):
            rows = np.arange(seq_len, dtype=np.int32)  # the templates: diagonal and first column
            wanted = Wanted(
                np.stack([np.arange(seq_len + 1), np.arange(seq_len + 1) + seq_len]),
                np.concatenate([rows, 0 * rows]),
                step,
                hide_first,
            )
            found = scanner(q, k, scale=1 / head_dim, wanted=wanted)
            for part in (range(seq_len // 3), range(seq_len // 3, seq_len)):
                found.read(part)
            off = _off(found, pattern, wanted)
            if not off <= TOLERANCE:  # NaN is not
                return f"what it reads off patterns differs by {off:.1e} at {q.shape}"
    return None


def _off(found: Scanner, pattern: NDArray[np.float64], wanted: Wanted) -> float:
    on = (np.trace(pattern, axis1=1, axis2=2), pattern[:, :, 0].sum(axis=1))
    logs = np.log(pattern, where=pattern > 0, out=np.zeros_like(pattern))
    shown, seq_len, step = np.tril(pattern), pattern.shape[1], wanted.step
    shown[:, ~np.tri(seq_len, dtype=bool)] = NOTHING
    if wanted.hide_first:
        rest = 1 - shown[:, 1:, :1]
        shown[:, 1:] = np.where(shown[:, 1:] < 0, NOTHING, shown[:, 1:] / rest)
        shown[:, 0], shown[:, :, 0] = NOTHING, NOTHING
    starts = np.arange(0, seq_len, step)
    squares = np.maximum.reduceat(np.maximum.reduceat(shown, starts, axis=1), starts, axis=2)
    differences = (
        (found.totals - np.stack(on, axis=1)) / seq_len,
        found.entropies() + (pattern * logs).sum(axis=2),
        found.squares - squares,
    )
    return max(float(np.abs(difference).max()) for difference in differences)
